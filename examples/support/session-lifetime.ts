import { ClosedError, SessionExpiredError, type Client } from '@zabra/client'

export interface SessionLifetime extends Disposable {
  readonly sessionId: bigint
  /** Aborts when this session has ended and its ephemerals are deleted. */
  readonly signal: AbortSignal
}

/** The current session of the client, or its next one. */
export async function sessionLifetime(
  client: Client,
  signal?: AbortSignal,
): Promise<SessionLifetime> {
  while (client.session === undefined) await client.connected({ signal })
  const { id } = client.session
  const controller = new AbortController()
  const stop = client.onState(({ name }) => {
    if (name === 'expired') controller.abort(new SessionExpiredError(false))
    if (name === 'closed') controller.abort(new ClosedError())
  })
  return { sessionId: id, signal: controller.signal, [Symbol.dispose]: stop }
}
