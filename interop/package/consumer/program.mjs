// Plain JavaScript, for a Node that knows no `using` and strips no types.
import { connect, isRefusal } from '@zabra/client'
import * as recipes from '@zabra/recipes'

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
  if (typeof recipes.hold !== 'function') throw new Error('no recipes')
} finally {
  await client.close()
}
console.log('all well')
