import { setTimeout as delay } from 'node:timers/promises'
import type { Apache } from '../src/apache.ts'
import type { ServerCommand } from '../src/commands.ts'
import { Sessions } from './sessions.ts'
import { startTrio } from './trio.ts'

/** The effects of a server's restart on clients. */
export interface Restart {
  readonly ensemble: string
  readonly step: string
  readonly longestMs: number
  readonly ownMs: number
  readonly unanswered: number
  readonly lost: number
}

const sessionCount = 12
/** The pause between two restarts, so that every client works again. */
const settleMs = 2500

/** Restarts each of three servers, the leader last, while clients write. */
export async function restartAll(
  command: ServerCommand,
  clients: Apache,
  rounds: number,
): Promise<{ readonly restarts: readonly Restart[]; readonly problems: readonly string[] }> {
  const trio = await startTrio(command)
  const restarts: Restart[] = []
  let sessions: Sessions | undefined
  try {
    sessions = await Sessions.start(clients, trio.connectString, sessionCount)
    const record = async (step: string): Promise<void> => {
      await delay(settleMs)
      const { longestMs, ownMs, unanswered, lost } = await sessions!.step()
      restarts.push({ ensemble: command.name, step, longestMs, ownMs, unanswered, lost })
    }
    await record('nothing happens')
    for (let round = 0; round < rounds; round++) {
      for (const server of await trio.leaderLast()) {
        const mode = await server.mode()
        await server.restart(false)
        await record(`server ${server.id}, ${mode}`)
      }
    }
    await sessions.stop()
    return { restarts, problems: sessions.problems }
  } catch (error) {
    const problems = [...(sessions?.problems ?? []), `${command.name}: ${(error as Error).message}`]
    return { restarts, problems }
  } finally {
    await sessions?.end()
    await trio.dispose()
  }
}
