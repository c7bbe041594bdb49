import { isRefusal, type CallOptions, type Client } from '@zabra/client'
import { onAbort, pause } from '@zabra/client/internal'
import { limited } from '../waiting/limits.ts'
import { LiveCell } from './live.ts'
import { followNode, type NodeState } from '../nodes/node.ts'
import { refusedPauseMs } from '../waiting/pause.ts'
import { tellProblem, type ProblemListener } from './problem.ts'

/** What a node means; undefined where it means nothing new. */
export type Interpret<T> = (node: NodeState | undefined) => { readonly value: T } | undefined

export interface LiveOptions extends CallOptions {
  /** Hears of data that cannot be understood: the last good value stays. */
  readonly onProblem?: ProblemListener | undefined
}

/**
 * The meaning of a node, kept up to date. Resolves when it has one, or rejects with what `interpret`
 * throws; from then on the last one stays where a node has none, and the end is where there is no
 * node and `interpret` throws.
 */
export function openLiveNode<T>(
  { patient: client }: Client,
  path: string,
  interpret: Interpret<T>,
  { onProblem, ...limits }: LiveOptions,
): Promise<LiveCell<T>> {
  return limited(
    client,
    limits,
    (signal) =>
      new Promise((resolve, reject) => {
        const ending = new AbortController()
        const stop = (): Promise<void> => Promise.resolve(ending.abort(new Error('closed')))
        const stopListening = onAbort(signal, (reason) => {
          ending.abort(reason)
          reject(reason)
        })
        let cell: LiveCell<T> | undefined
        const meaningOf: Interpret<T> = (node) => {
          try {
            return interpret(node)
          } catch (problem) {
            if (cell === undefined || node === undefined) throw problem
            tellProblem(client, onProblem, { path, problem, stat: node.stat })
            return undefined
          }
        }
        const tell = (node: NodeState | undefined): void => {
          const meaning = meaningOf(node)
          if (meaning === undefined) return
          if (cell !== undefined) {
            cell.set(meaning.value)
            return
          }
          stopListening()
          cell = new LiveCell(client, meaning.value, stop)
          resolve(cell)
        }
        const follow = async (): Promise<void> => {
          for (;;) {
            try {
              return await followNode(client, path, ending.signal, tell)
            } catch (error) {
              // A server that has too much to do is asked again.
              const isTemporary = isRefusal(error) && !isRefusal(error, 'noNode', 'noAuth')
              if (cell === undefined || !isTemporary) throw error
            }
            await pause(client.host, refusedPauseMs, ending.signal)
          }
        }
        follow().catch((error: unknown) => {
          if (cell === undefined) reject(error)
          else cell.fail(error)
        })
      }),
  )
}
