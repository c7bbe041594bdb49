import type { Logger } from '../logger.ts'
import type { ServerView } from '../server-view.ts'

export interface AdminServer {
  readonly url: string
  stop(): Promise<void>
}

/** The HTTP port, where one is wanted. */
export async function startAdmin(
  _view: ServerView,
  _logger: Logger,
): Promise<AdminServer | undefined> {
  return undefined
}
