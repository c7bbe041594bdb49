import { setImmediate } from 'node:timers/promises'
import { Client, type ClientOptions, type State } from '@zabra/client'
import { onTestFinished } from 'vitest'
import { nextState } from '../../../client/test/support/fixture.ts'
import { Proxy } from '../../../client/test/support/proxy.ts'

export { nextState }

/** Ends the session of a client from elsewhere, as the server does when a session expires. */
export async function expire(client: Client, connectString: string): Promise<void> {
  await client.connected()
  const { id, password, timeoutMs } = client.session!
  const ends: State[] = []
  const expired = nextState(client, 'expired').then((state) => ends.push(state))
  while (ends.length === 0) {
    const twin = new Client({
      servers: connectString,
      sessionTimeoutMs: timeoutMs,
      session: { id, password, lastZxid: client.lastZxid },
      onExpiry: 'end',
    })
    await twin.connected().catch(() => {})
    await twin.close()
    // The client may have reconnected before the twin could close the session: then once more.
    await client.sync().catch(() => {})
  }
  await expired
}

/** A client whose connection can be broken and observed. */
export async function openProxied(
  connectString: string,
  options: Partial<ClientOptions> = {},
): Promise<{ client: Client; proxy: Proxy }> {
  const [address = '', ...chroot] = connectString.split('/')
  const proxy = await Proxy.start(address)
  const servers = [`127.0.0.1:${proxy.port}`, ...chroot].join('/')
  const client = new Client({ servers, sessionTimeoutMs: 2000, ...options })
  onTestFinished(async () => {
    proxy.heal()
    await client.close()
    await proxy.stop()
  })
  await client.connected()
  return { client, proxy }
}

/**
 * The outcome of a call whose reply is lost with the connection. There are no connections until it
 * has ended.
 */
export async function outlived(
  proxy: Proxy,
  act: (limits: { timeoutMs: number }) => Promise<unknown>,
): Promise<unknown> {
  proxy.mute()
  const outcome = act({ timeoutMs: 200 }).catch((error: unknown) => error)
  // By then it has been sent.
  await setImmediate()
  proxy.cut()
  const result = await outcome
  proxy.heal()
  return result
}

/** Resolves when the node has this many children. */
export async function untilChildren(
  client: Client,
  path: string,
  count: number,
): Promise<string[]> {
  for (;;) {
    let wake = (): void => {}
    const changed = new Promise<void>((resolve) => (wake = resolve))
    const isThere = (await client.exists(path, { watch: wake })) !== undefined
    // A container may be deleted in between.
    const children = isThere ? await client.children(path, { watch: wake }).catch(() => []) : []
    if (children.length === count) return children
    await changed
  }
}

/** Time for a client to do something in the background that takes no more round trips than this. */
export async function roundTrips(client: Client, count: number): Promise<void> {
  for (let i = 0; i < count; i++) await client.sync()
}

/** Resolves with the reason when the signal aborts. */
export function aborted(signal: AbortSignal): Promise<unknown> {
  return new Promise((resolve) => {
    const done = (): void => resolve(signal.reason)
    if (signal.aborted) done()
    else signal.addEventListener('abort', done, { once: true })
  })
}
