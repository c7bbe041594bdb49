/**
 * Runs one server in its own thread. There it can be paused without affecting others, and ended at
 * any instruction, on every operating system.
 */
import { parentPort, workerData } from 'node:worker_threads'
import { startServer, type Overrides, type RunningServer } from '@zabra/server'
import type { FromServer, Role, SessionEnd, Status, ToServer } from './messages.ts'

const statusMs = 10
const epochShift = 32n
const roles: Readonly<Record<NonNullable<RunningServer['ensembleState']>, Role>> = {
  leading: 'leader',
  following: 'follower',
  observing: 'observer',
  looking: 'looking',
}

let last: Status | undefined

const port = parentPort!
const tell = (message: FromServer): void => port.postMessage(message)
const say = (line: string): void => tell({ type: 'said', line })

try {
  const server = await startServer({
    config: workerData as Overrides,
    logger: { info: say, warn: say, error: say },
  })
  server.failed.catch((error: unknown) => tell({ type: 'failed', error: error as Error }))
  port.on('message', (message: ToServer) => hear(server, message))
  setInterval(() => tellStatus(server), statusMs)
  const { clientPort, adminAddress } = server
  tell({ type: 'started', clientPort, ...(adminAddress && { adminAddress }) })
  tellStatus(server)
} catch (error) {
  tell({ type: 'failed', error: error as Error })
}

function hear(server: RunningServer, message: ToServer): void {
  switch (message.type) {
    case 'stop':
      void stop(server)
      return
    case 'pause':
      tell({ type: 'paused' })
      Atomics.wait(message.cell, 0, 0)
      // The owner must not rely on the last status any more.
      last = undefined
      return
    case 'endSession': {
      const { id, call } = message
      const answer = (outcome: SessionEnd): void => tell({ type: 'endedSession', call, outcome })
      server.endSession(id).then(
        (isDone) => answer(isDone ? 'done' : 'gone'),
        () => answer('again'),
      )
    }
  }
}

async function stop(server: RunningServer): Promise<void> {
  try {
    await server.stop()
    tell({ type: 'stopped' })
  } catch (error) {
    tell({ type: 'failed', error: error as Error })
  }
}

function tellStatus({ peer, ensembleState }: RunningServer): void {
  const { isServing, isReadOnly, db } = peer
  const role = isReadOnly ? 'read-only' : ensembleState ? roles[ensembleState] : 'standalone'
  const epoch = db.lastZxid >> epochShift
  if (last?.role === role && last.isServing === isServing && last.epoch === epoch) return
  last = { role, isServing, epoch }
  tell({ type: 'status', status: last })
}
