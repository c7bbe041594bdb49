/**
 * Runs in a worker thread: a session with its connection, heartbeats and reconnections. The client
 * in the main thread decides what to send, and handles received frames whenever it finds the time.
 */
import { parentPort, workerData } from 'node:worker_threads'
import { Writer } from '@zabra/protocol'
import { ServerRotation } from '../machine/server-rotation.ts'
import type { SessionEvents } from '../machine/session-machine.ts'
import { SessionDriver } from '../session-driver.ts'
import { nodeHost } from './node-host.ts'
import type { Facts, FromWorker, ToWorker, WorkerTask } from './worker-messages.ts'

const port = parentPort
if (port === null) throw new Error('this module runs in a worker thread')
const { settings, servers, host: hostOptions } = workerData as WorkerTask
const host = nodeHost(hostOptions)
/** Each thread has its own time origin. */
const { timeOrigin } = performance

const tell = (message: FromWorker, transfer: ArrayBuffer[] = []): void =>
  port.postMessage(message, transfer)

let connections = 0
let received = new Writer(0)
const events: SessionEvents = {
  connected(connection) {
    connections++
    tell({ type: 'connected', connection, facts: facts() })
  },
  frame(bytes, start, end) {
    received.int(end - start)
    received.rawRange(bytes, start, end)
  },
  received() {
    if (received.position === 0) {
      tell({ type: 'facts', facts: facts() })
      return
    }
    const bytes = received.written()
    received = new Writer(0)
    tell({ type: 'frames', bytes, facts: facts() }, [bytes.buffer as ArrayBuffer])
  },
  suspended(session, expiresAtMs, cause) {
    // Frames that came before the loss are reported before it, and never on the next connection.
    if (received.position > 0) events.received()
    tell({ type: 'suspended', session, expiresAtMs: expiresAtMs + timeOrigin, cause })
  },
  attemptFailed: (server, cause) => tell({ type: 'attemptFailed', server, cause }),
  expired: (session) => tell({ type: 'expired', session }),
}

const driver = new SessionDriver(
  host,
  settings,
  new ServerRotation(servers, () => host.random(), settings.timeoutMs),
  events,
  () => {},
)

const hear = (message: ToWorker): void => {
  if (message.type === 'end') {
    driver.end()
    // The thread ends when nobody listens. Deno's port cannot be closed.
    port.off('message', hear)
  } else if (message.type === 'servers') {
    driver.setServers(message.servers)
  } else if (message.connection === connections) {
    if (message.type === 'send') driver.send(message.bytes, message.frames)
    else driver.leave(message.cause)
  }
}
port.on('message', hear)
driver.start()

function facts(): Facts {
  const { lastZxid, aliveUntilMs } = driver
  return { lastZxid, aliveUntilMs: aliveUntilMs + timeOrigin }
}
