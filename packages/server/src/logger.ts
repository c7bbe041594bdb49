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
  process.stderr.write(`${new Date().toISOString()} ${level} ${message}\n`)
}
