import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { CommandError } from '../framework/errors.ts'
import type { TlsFiles } from './target.ts'

/** Servers with all that is needed to connect to them, under a name. */
export interface Context {
  readonly servers: string
  /** `digest:user:password`. */
  readonly auth?: readonly string[]
  readonly tls?: TlsFiles
  readonly timeoutMs?: number
  readonly sessionTimeoutMs?: number
  readonly readOnly?: boolean
}

export interface Contexts {
  readonly current?: string | undefined
  readonly contexts: Readonly<Record<string, Context>>
}

type Env = Readonly<Record<string, string | undefined>>

/** Where zabra keeps contexts and the history of the shell. */
export function configFolder(env: Env): string {
  const own = env['ZABRA_CONFIG_DIR']
  if (own !== undefined && own !== '') return own
  const base = env['XDG_CONFIG_HOME']
  return join(
    base === undefined || base === '' ? join(env['HOME'] ?? homedir(), '.config') : base,
    'zabra',
  )
}

function contextsFile(env: Env): string {
  return join(configFolder(env), 'contexts.json')
}

export function readContexts(env: Env): Contexts {
  const file = contextsFile(env)
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { contexts: {} }
    throw error
  }
  try {
    const { current, contexts = {} } = JSON.parse(text) as Partial<Contexts>
    return { current, contexts }
  } catch (cause) {
    throw new CommandError(`${file} is not JSON: ${(cause as Error).message}`, {
      cause,
      hint: 'repair it, or delete it and add the contexts again',
    })
  }
}

/** For the owner only: there may be passwords in it. */
export function writeContexts(env: Env, contexts: Contexts): void {
  const file = contextsFile(env)
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  const draft = `${file}.${process.pid}`
  writeFileSync(draft, `${JSON.stringify(contexts, undefined, 2)}\n`, { mode: 0o600 })
  renameSync(draft, file)
}
