/** Errors in what is stored and derived for the next start. */
import type { TxnLog } from '@zabra/core'
import { inside, replace } from './inside.ts'
import type { Mutant } from '../cluster/mutant.ts'

export const recoveryMutants: readonly Mutant[] = [
  {
    name: 'logs are cut off while the note says that they go further',
    servers: 3,
    joined: (peer) => {
      replace<[bigint], Promise<void>>(inside(peer, 'parts', 'log'), 'rebase', () => async () => {})
    },
  },
  {
    name: 'how far a log goes is noted before it does',
    serving: ({ log }) => {
      replace<Parameters<TxnLog['append']>, Promise<void>>(log, 'append', (original) => (batch) => {
        Reflect.set(log, 'durableZxid', batch.lastZxid)
        const writer = log as unknown as { noteEnd(when: string): Promise<void> }
        return writer.noteEnd('durably').then(() => original(batch))
      })
    },
  },
  {
    name: 'a deleted node is counted on by its quota',
    loaded: (db) => {
      replace(db.quotas, 'deleted', () => () => {})
    },
  },
]
