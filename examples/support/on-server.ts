import { startServer } from '@zabra/server'

/** One line of what happens, for whoever looks on. */
export type Say = (line: string) => void

/**
 * Runs an example on a server of its own, in memory, or on the service that ZABRA_CONNECT names
 * (`host:port/chroot`), which may be an Apache ZooKeeper.
 */
export async function onServer(
  story: (servers: string, say: Say) => Promise<unknown>,
): Promise<void> {
  const say: Say = (line) => console.log(line)
  const elsewhere = process.env['ZABRA_CONNECT']
  if (elsewhere !== undefined) {
    await story(elsewhere, say)
    return
  }
  const server = await startServer({ config: { tickTime: 100 } })
  try {
    await story(`${server.connectString}/example`, say)
  } finally {
    await server.stop()
  }
}
