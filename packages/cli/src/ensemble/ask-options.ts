import { tlsOptions } from '../connection/connect.ts'
import type { ConnectionSettings } from '../connection/settings.ts'
import type { AskOptions } from './four-letter.ts'

/** How servers are asked directly, by the options that also connect clients. */
export async function askOptions(
  { tls, timeoutMs }: ConnectionSettings,
  signal: AbortSignal,
): Promise<AskOptions> {
  return { timeoutMs, signal, tls: tls === undefined ? undefined : await tlsOptions(tls) }
}
