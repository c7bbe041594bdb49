import { setImmediate } from 'node:timers/promises'
import { Client, type ClientOptions, type State } from '@zabra/client'
import { nextState, startProxy, type FaultProxy } from '@zabra/testing'
import { onTestFinished } from 'vitest'

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
): Promise<{ client: Client; proxy: FaultProxy }> {
  const proxy = await startProxy(connectString)
  const client = new Client({ servers: proxy.connectString, sessionTimeoutMs: 2000, ...options })
  onTestFinished(async () => {
    await proxy.heal()
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
  proxy: FaultProxy,
  act: (limits: { timeoutMs: number }) => Promise<unknown>,
): Promise<unknown> {
  proxy.hold({ direction: 'toClient' })
  const outcome = act({ timeoutMs: 200 }).catch((error: unknown) => error)
  // By then it has been sent.
  await setImmediate()
  proxy.cut()
  const result = await outcome
  await proxy.heal()
  return result
}

/** Time for a client to do something in the background that takes no more round trips than this. */
export async function roundTrips(client: Client, count: number): Promise<void> {
  for (let i = 0; i < count; i++) await client.sync()
}
