/** Receives the log of a server, one line at a time. */
export interface Logger {
  info(message: string): void
  warn(message: string): void
  error(message: string): void
}

export const silent: Logger = { info() {}, warn() {}, error() {} }

/** Writes each line to stderr, after time and level. */
export const stderrLogger: Logger = {
  info: (message) => write('info ', message),
  warn: (message) => write('warn ', message),
  error: (message) => write('error', message),
}

function write(level: string, message: string): void {
  writeOrLose(process.stderr, `${new Date().toISOString()} ${level} ${message}\n`)
}

/** Drops text that cannot be written: a full disk behind stderr must not stop the server. */
export function writeOrLose(stream: NodeJS.WritableStream, text: string): void {
  try {
    stream.write(text)
  } catch {
    // Nowhere else to report it.
  }
}

/** Ignores errors that a stream reports later, such as a pipe that nobody reads anymore. */
export function outliveStreams(...streams: readonly NodeJS.WritableStream[]): void {
  for (const stream of streams) stream.on('error', () => {})
}
