import { connect } from '@zabra/client'
import { startServer } from '@zabra/server'

const server = await startServer({ config: { dataDir: './embedded-data' } })
const client = await connect(server.connectString)
await client.create('/embedded', 'kept')
await client.close()
await server.stop()

const again = await startServer({ config: { dataDir: './embedded-data' } })
const reader = await connect(again.connectString)
const { data } = await reader.get('/embedded')
if (new TextDecoder().decode(data) !== 'kept') throw new Error('other data')
await reader.close()
await again.stop()
console.log('all well')
