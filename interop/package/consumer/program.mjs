// Plain JavaScript for Node versions without `using` and without type stripping.
import { connect, isRefusal } from '@zabra/client'
import { Lock } from '@zabra/recipes'

const client = await connect(process.argv[2])
try {
  await client.ensure('/')
  const { path } = await client.create('/plain', 'javascript')
  const { data, stat } = await client.get(path)
  if (new TextDecoder().decode(data) !== 'javascript') throw new Error('other data')
  if (typeof stat.czxid !== 'bigint') throw new Error('a zxid that is no bigint')
  await client.delete(path)
  const error = await client.get(path).catch((refusal) => refusal)
  if (!isRefusal(error, 'noNode')) throw error
  const held = await new Lock(client, '/lock').acquire()
  await held.release()
} finally {
  await client.close()
}

const busy = await connect(process.argv[2], { keepAlive: 'worker' })
try {
  await busy.children('/')
} finally {
  await busy.close()
}
console.log('all well')
