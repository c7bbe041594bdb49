import { expect, test } from 'vitest'
import { RawClient } from './support/raw-client.ts'
import { inTemporaryFolder, ServerProcess } from './support/server-process.ts'

// The password is a function of the id: whoever held the old session could take over the new one.
test('a session id is not given out again after a restart', async () => {
  await inTemporaryFolder(async (dir) => {
    let highest = 0n
    for (let start = 0; start < 4; start++) {
      const server = await ServerProcess.start(dir, '')
      try {
        const client = await RawClient.connect(server.port)
        expect(client.sessionId).toBeGreaterThan(highest)
        highest = client.sessionId
        await client.close()
      } finally {
        await server.stop()
      }
    }
  })
})
