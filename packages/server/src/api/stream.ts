import { ApiError } from './api-error.ts'
import type { InternalClient } from './internal-client.ts'
import type { Call } from './route.ts'

const unreadBytesMax = 1024 * 1024
const heartbeatMs = 10_000

/** Event streams of one caller, and of all callers. Each one may hold unread bytes. */
const streamsMax = { perCaller: 64, total: 256 }

/** Bounds the number of event streams. Administrators are subject only to the limit per caller. */
export class StreamLimits {
  private total = 0
  private readonly perCaller = new WeakMap<InternalClient, number>()
  private readonly onReached: () => void

  constructor(onReached: () => void) {
    this.onReached = onReached
  }

  /** Returns a function to call at the end of the stream. */
  begin({ client, role }: Pick<Call, 'client' | 'role'>): () => void {
    const { perCaller } = this
    const own = perCaller.get(client) ?? 0
    const isFull = this.total >= streamsMax.total && role !== 'admin'
    if (isFull || own >= streamsMax.perCaller) {
      this.onReached()
      throw new ApiError(503, 'tooManyStreams', 'Too many event streams are open')
    }
    this.total++
    perCaller.set(client, own + 1)
    return () => {
      this.total--
      perCaller.set(client, perCaller.get(client)! - 1)
    }
  }
}

export type SendEvent = (event: string, data: object) => void

/**
 * Answers with server-sent events until the caller or its session is gone. The first event is
 * `ready`, with the result of `ready`. `start` starts the source of the other events and adds its
 * cleanup to `ends`; if it throws, the error is the answer.
 */
export async function openStream(
  {
    response,
    signal,
    client,
    role,
    streams,
  }: Pick<Call, 'response' | 'signal' | 'client' | 'role' | 'streams'>,
  start: (send: SendEvent, ends: (() => void)[]) => void | Promise<void>,
  ready: () => object = () => ({}),
): Promise<void> {
  const ends: (() => void)[] = [streams.begin({ client, role })]
  const send: SendEvent = (event, data) => {
    response.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`)
    // A caller that does not read is disconnected, rather than sent a part.
    if (response.writableLength > unreadBytesMax) response.destroy()
  }
  try {
    await start(send, ends)
    response.writeHead(200, {
      'Content-Type': 'text/event-stream',
      'Cache-Control': 'no-store',
      'X-Content-Type-Options': 'nosniff',
    })
    send('ready', ready())
    const heartbeat = setInterval(() => response.write(':\n\n'), heartbeatMs)
    ends.push(() => clearInterval(heartbeat))
    await new Promise<void>((resolve) => {
      ends.push(client.onClose(resolve))
      signal.addEventListener('abort', () => resolve())
      if (signal.aborted || !client.isOpen) resolve()
    })
  } finally {
    for (const end of ends) end()
  }
  response.end()
}
