import { spawn, spawnSync } from 'node:child_process'
import { existsSync, statSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const source = fileURLToPath(new URL('zkload.c', import.meta.url))
/** The binary with or without TLS; TLS needs OpenSSL's headers. */
const binaryOf = (withTls: boolean): string =>
  fileURLToPath(new URL(withTls ? 'zkload-tls' : 'zkload', import.meta.url))

export interface Percentiles {
  readonly n: number
  readonly mean: number
  readonly p50: number
  readonly p99: number
  readonly max: number
}

/** The JSON output of zkload; the fields depend on the mode. */
export interface LoadResult {
  /** Wrong or missing replies of any kind: figures with errors are invalid. */
  readonly errors: number
  readonly failed?: string
  readonly first_problem?: string
  readonly conns?: number
  readonly conn_failures?: number
  readonly ops?: number
  readonly ops_per_s?: number
  readonly notifications?: number
  readonly notif_per_s?: number
  readonly opened?: number
  readonly held?: number
  readonly sessions_per_s?: number
  readonly created?: number
  readonly creates_per_s?: number
  readonly read_us?: Percentiles
  readonly write_us?: Percentiles
  readonly delay_us?: Percentiles
  readonly open_us?: Percentiles
  /** Mode probe: the time of the first answered request. */
  readonly ok?: number
  readonly served_epoch_ms?: number
  /** Mode failover. */
  readonly acks?: number
  readonly gaps?: readonly (readonly [atEpochMs: number, ms: number])[]
  readonly client_gap_ms?: { readonly median: number; readonly max: number }
  readonly lost_acked?: number
  readonly expired?: number
}

export interface LoadHooks {
  /** Called when the measured window opens and closes, with zkload's pid. */
  readonly onMark?: (mark: 'begin' | 'end', pid: number) => void
  readonly signal?: AbortSignal
  /** After this many seconds zkload is considered stuck, and killed. */
  readonly limitS?: number
}

/** Compiles the generator if it is missing or older than its source. */
export function buildZkload(withTls = false): void {
  const binary = binaryOf(withTls)
  if (existsSync(binary) && statSync(binary).mtimeMs >= statSync(source).mtimeMs) return
  const compiler = process.env['CC'] ?? 'cc'
  console.error(`building zkload with ${compiler} ...`)
  const tls = withTls ? ['-DZKLOAD_TLS', '-lssl', '-lcrypto'] : []
  const args = ['-O2', '-g', '-Wall', '-Wextra', '-std=gnu11', '-o', binary, source, ...tls]
  const { status, error } = spawnSync(compiler, args, { stdio: ['ignore', 2, 2] })
  if (error !== undefined) {
    throw new Error(
      `NO C COMPILER: ${compiler} cannot be run (${error.message}), and without it there is no ` +
        'load generator and no benchmark. Install one (Debian: apt-get install gcc libc6-dev) ' +
        'or name yours in CC.',
    )
  }
  if (status === 0) return
  const hint = withTls ? '; it needs the headers of OpenSSL (Debian: libssl-dev)' : ''
  throw new Error(`${compiler} could not compile ${source}${hint}`)
}

/** Runs zkload to its end. If it prints no result, the result has `failed` set. */
export async function runZkload(
  args: readonly string[],
  { onMark, signal, limitS = 1000 }: LoadHooks = {},
): Promise<LoadResult> {
  const child = spawn(binaryOf(args.includes('--tls')), [...args, '--marks'], {
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: limitS * 1000,
    killSignal: 'SIGKILL',
    ...(signal === undefined ? {} : { signal }),
  })
  let output = ''
  const complaints: string[] = []
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString()
  })
  createInterface({ input: child.stderr }).on('line', (line) => {
    const mark = /^@(begin|end) /.exec(line)?.[1]
    if (mark === undefined) complaints.push(line)
    else if (child.pid !== undefined) onMark?.(mark === 'begin' ? 'begin' : 'end', child.pid)
  })
  await new Promise<void>((resolve) => {
    child.once('close', () => resolve())
    child.once('error', (error) => complaints.push(error.message))
  })
  const failure = { errors: 1, failed: 'no result', first_problem: complaints.join(' ') }
  return parseResult(output) ?? failure
}

/** The output of zkload; undefined if it died before printing. */
export function parseResult(output: string): LoadResult | undefined {
  try {
    const value: unknown = JSON.parse(output)
    return isResult(value) ? value : undefined
  } catch {
    return undefined
  }
}

function isResult(value: unknown): value is LoadResult {
  return typeof value === 'object' && value !== null && 'errors' in value
}

/** Whether the figures are valid: all requests were answered correctly. */
export function isSound({ errors, failed, conn_failures, conns, opened }: LoadResult): boolean {
  if (errors > 0 || failed !== undefined || (conn_failures ?? 0) > 0) return false
  return opened === undefined || opened === conns
}

/** The wall-clock time at which the server first answered a request, or NaN. */
export async function probe(hosts: string, limitS: number, signal?: AbortSignal): Promise<number> {
  const result = await runZkload(['probe', '--hosts', hosts, '--duration', String(limitS)], {
    limitS: limitS + 10,
    ...(signal === undefined ? {} : { signal }),
  })
  return result.ok === 1 && result.served_epoch_ms !== undefined ? result.served_epoch_ms : NaN
}
