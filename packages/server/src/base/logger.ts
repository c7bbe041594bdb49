/** Where a server says what it does. */
export interface Logger {
  info(message: string): void
  warn(message: string): void
  error(message: string): void
}

export const silent: Logger = { info() {}, warn() {}, error() {} }

/** One line a message on stderr, with time and level. */
export const stderrLogger: Logger = {
  info: (message) => write('info ', message),
  warn: (message) => write('warn ', message),
  error: (message) => write('error', message),
}

function write(level: string, message: string): void {
  writeOrLose(process.stderr, `${new Date().toISOString()} ${level} ${message}\n`)
}

/** Text that cannot be written is lost, and nothing else: a server outlives a full disk. */
export function writeOrLose(stream: NodeJS.WritableStream, text: string): void {
  try {
    stream.write(text)
  } catch {
    // There is no better place to say so.
  }
}

/** The same for what a stream finds out later, as when nobody reads its pipe any more. */
export function outliveStreams(...streams: readonly NodeJS.WritableStream[]): void {
  for (const stream of streams) stream.on('error', () => {})
}
