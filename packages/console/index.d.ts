/** A file of the console, as a server sends it. */
export interface ConsoleFile {
  readonly type: string
  /** Its bytes, gzipped, in base64. */
  readonly gzip: string
  /** Its name changes with its content. */
  readonly isImmutable: boolean
}

/** The files of the console by their paths: `/` and what that loads. */
export const files: Readonly<Record<string, ConsoleFile>>
