import type { CallOptions, Client } from '@zabra/client'
import { limited, onAbort } from './limits.ts'
import { LiveCell } from './live.ts'
import { followNode, type NodeState } from './node.ts'

/** What a node means; undefined where it means nothing new. */
export type Interpret<T> = (node: NodeState | undefined) => { readonly value: T } | undefined

/** The meaning of a node, kept up to date. Resolves when it has one; rejects with what `interpret` throws. */
export function openLiveNode<T>(
  { patient: client }: Client,
  path: string,
  interpret: Interpret<T>,
  options: CallOptions,
): Promise<LiveCell<T>> {
  return limited(
    client,
    options,
    (signal) =>
      new Promise((resolve, reject) => {
        const ending = new AbortController()
        const stop = (): Promise<void> => Promise.resolve(ending.abort(new Error('closed')))
        const stopListening = onAbort(signal, (reason) => {
          ending.abort(reason)
          reject(reason)
        })
        let cell: LiveCell<T> | undefined
        const tell = (node: NodeState | undefined): void => {
          const meaning = interpret(node)
          if (meaning === undefined) return
          if (cell !== undefined) {
            cell.set(meaning.value)
            return
          }
          stopListening()
          cell = new LiveCell(client, meaning.value, stop)
          resolve(cell)
        }
        followNode(client, path, ending.signal, tell).catch((error: unknown) => {
          if (cell === undefined) reject(error)
          else cell.fail(error)
        })
      }),
  )
}
