import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { configFolder } from '../connection/contexts.ts'

const linesMax = 1000

/** The lines typed in earlier runs, kept in a file that only its owner reads. */
export class HistoryFile {
  private readonly file: string

  constructor(env: Readonly<Record<string, string | undefined>>) {
    this.file = env['ZABRA_HISTORY'] ?? join(configFolder(env), 'history')
  }

  /** The last one first, as readline wants it. */
  read(): string[] {
    try {
      const lines = readFileSync(this.file, 'utf8')
        .split('\n')
        .filter((line) => line !== '')
      return lines.slice(-linesMax).toReversed()
    } catch {
      return []
    }
  }

  /** Without what presents a password. A shell without its history is still a shell. */
  write(lastFirst: readonly string[]): void {
    const kept = lastFirst.filter(mayBeKept).slice(0, linesMax).toReversed()
    try {
      mkdirSync(dirname(this.file), { recursive: true, mode: 0o700 })
      writeFileSync(this.file, kept.map((line) => `${line}\n`).join(''), { mode: 0o600 })
    } catch {
      // A home that is read-only, for example.
    }
  }
}

/** A blank in front keeps a line out, as in other shells. */
export function mayBeKept(line: string): boolean {
  return (
    !/^\s/.test(line) && !/^addauth\b|--auth\b|\bzks?:\/\/[^\s/]*@/.test(line) && line.trim() !== ''
  )
}
