import { startServer } from '@zabra/server'

/** Prints one line about what happens. */
export type Say = (line: string) => void

/**
 * Runs an example on a new server in memory, or on the service that ZABRA_CONNECT names
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
