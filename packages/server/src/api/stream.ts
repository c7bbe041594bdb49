import type { Call } from './route.ts'

const unreadBytesMax = 1024 * 1024
const heartbeatMs = 10_000

export type SendEvent = (event: string, data: object) => void

/**
 * Answers with server-sent events until the caller or its session is gone. The first event is
 * `ready`, with the result of `ready`. `start` starts the source of the other events and adds its
 * cleanup to `ends`; if it throws, the error is the answer.
 */
export async function openStream(
  { response, signal, client }: Pick<Call, 'response' | 'signal' | 'client'>,
  start: (send: SendEvent, ends: (() => void)[]) => void | Promise<void>,
  ready: () => object = () => ({}),
): Promise<void> {
  const ends: (() => void)[] = []
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
