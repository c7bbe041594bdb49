/** One thing an operator should know about a configuration. */
export interface Diagnostic {
  /** An `error` keeps the server from starting; a `notice` asks for nothing. */
  readonly severity: 'error' | 'warning' | 'notice'
  /** The file, or the name of the source (`SERVER_JVMFLAGS`, `environment`, `command line`). */
  readonly file: string | undefined
  readonly line: number | undefined
  readonly key: string | undefined
  readonly message: string
}

/** Where a value was written. */
export interface Origin {
  readonly file?: string | undefined
  readonly line?: number | undefined
  readonly key?: string | undefined
}

/** Collects every problem instead of stopping at the first. */
export class Diagnostics {
  readonly list: Diagnostic[] = []

  error(origin: Origin | undefined, message: string): void {
    this.#add('error', origin, message)
  }

  warning(origin: Origin | undefined, message: string): void {
    this.#add('warning', origin, message)
  }

  notice(origin: Origin | undefined, message: string): void {
    this.#add('notice', origin, message)
  }

  get failed(): boolean {
    return this.list.some(({ severity }) => severity === 'error')
  }

  /** Whether what is written there was refused already. */
  hasErrorAt({ file, line, key }: Origin): boolean {
    return this.list.some(
      (each) =>
        each.severity === 'error' && each.file === file && each.line === line && each.key === key,
    )
  }

  #add(severity: Diagnostic['severity'], origin: Origin | undefined, message: string): void {
    this.list.push({
      severity,
      file: origin?.file,
      line: origin?.line,
      key: origin?.key,
      message,
    })
  }
}

/** As it is printed: `zoo.cfg:12: tickTime: expected a whole number, got "2s"`. */
export function formatDiagnostic({ file, line, key, message }: Diagnostic): string {
  const place = file !== undefined && line !== undefined ? `${file}:${line}` : file
  return [place, key, message].filter((part) => part !== undefined).join(': ')
}
