import { json, type Client } from '@zabra/client'

/**
 * The znodes of the system:
 *
 *     /election          the candidates for master
 *     /workers/W         ephemeral: the worker W is alive
 *     /tasks/T           a task that waits
 *     /assign/W/T        the same task, given to W
 *     /status/T          the state of a task; created with it, deleted by the submitter
 *
 * A task whose status is `accepted` is in exactly one place below /tasks and /assign: every step is
 * one transaction that moves it from one place to another.
 */
export const paths = {
  election: '/election',
  workers: '/workers',
  worker: (worker: string) => `/workers/${worker}`,
  tasks: '/tasks',
  task: (id: string) => `/tasks/${id}`,
  assignments: '/assign',
  assignmentsOf: (worker: string) => `/assign/${worker}`,
  assignment: (worker: string, id: string) => `/assign/${worker}/${id}`,
  status: (id: string) => `/status/${id}`,
} as const

export interface Task {
  readonly input: unknown
  /** How many workers died while they had it. */
  readonly losses: number
}

export type Status =
  | { readonly state: 'accepted' }
  | { readonly state: 'done'; readonly output: unknown }
  | { readonly state: 'failed'; readonly error: string }

export const taskCodec = json<Task>()
export const statusCodec = json<Status>()

/** Creates the nodes that must exist first; does nothing if they exist. */
export async function prepare(client: Client): Promise<void> {
  const parents = [paths.workers, paths.tasks, paths.assignments, '/status']
  for (const parent of parents) await client.ensure(parent)
}
