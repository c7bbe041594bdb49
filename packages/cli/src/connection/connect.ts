import type { Client, TlsOptions } from '@zabra/client'
import { UsageError } from '../framework/errors.ts'
import type { ConnectionSettings } from './settings.ts'
import type { TlsFiles } from './target.ts'

/**
 * Connects, or throws a TimeoutError that names the servers. `onSlow` is called when that takes
 * more than a second.
 */
export async function openClient(
  settings: ConnectionSettings,
  {
    signal,
    onSlow,
    isLasting = false,
  }: { signal?: AbortSignal; onSlow?: () => void; isLasting?: boolean } = {},
): Promise<Client> {
  // The code of the client is loaded while the command line is known to be right, and not before.
  const { Client } = await import('@zabra/client')
  const options = await clientOptions(settings, isLasting)
  let client: Client
  try {
    client = new Client(options)
  } catch (error) {
    // It refuses servers and identities that are none.
    throw new UsageError((error as Error).message, 'for example --servers 10.0.0.1:2181')
  }
  const slow = onSlow === undefined ? undefined : setTimeout(onSlow, 1000)
  try {
    await client.connected({ signal, timeoutMs: settings.timeoutMs })
    return client
  } catch (error) {
    await client.close()
    throw error
  } finally {
    clearTimeout(slow)
  }
}

/** `isLasting`: calls have no deadline of their own, for what waits as long as it takes. */
export async function clientOptions(
  settings: ConnectionSettings,
  isLasting: boolean,
): Promise<ConstructorParameters<typeof Client>[0]> {
  const { servers, auth, tls, timeoutMs, sessionTimeoutMs, readOnly } = settings
  return {
    servers,
    auth,
    readOnly,
    sessionTimeoutMs,
    // A silent server must not use up the time in which another one would answer.
    connectTimeoutMs: timeoutMs,
    ...(isLasting ? {} : { callTimeoutMs: timeoutMs }),
    ...(tls === undefined ? {} : { tls: await tlsOptions(tls) }),
  }
}

/** The options for `tls.connect`; the files are read now. */
export async function tlsOptions({
  ca,
  cert,
  key,
  serverName,
  insecure,
  anyName,
}: TlsFiles): Promise<TlsOptions> {
  const { readFile } = await import('node:fs/promises')
  return {
    ...(ca === undefined ? {} : { ca: await readFile(ca) }),
    ...(cert === undefined ? {} : { cert: await readFile(cert) }),
    ...(key === undefined ? {} : { key: await readFile(key) }),
    ...(serverName === undefined ? {} : { servername: serverName }),
    ...(insecure === true ? { rejectUnauthorized: false } : {}),
    ...(anyName === true ? { checkServerIdentity: () => undefined } : {}),
  }
}
