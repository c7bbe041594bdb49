/**
 * `zabra server` from the sources, as a process that tests may torment. Besides serving it does
 * two things when its parent says so: it tells how much memory it holds after a collection, and it
 * lets the calls that write to files fail.
 */
import { runServer } from '../../src/main.ts'
import { failWrites } from './failing-files.ts'
import type { Ask } from './server-process.ts'

process.on('message', (ask: Ask) => {
  if (ask.type === 'fail') {
    failWrites(ask.code)
    process.send?.({ type: 'failing' })
    return
  }
  const collect = (globalThis as { gc?: () => void }).gc
  if (collect === undefined) throw new Error('memory is measured with --expose-gc')
  collect()
  collect()
  const { heapUsed, external, rss } = process.memoryUsage()
  process.send?.({ type: 'memory', heapUsed, external, rss })
})
process.on('disconnect', () => process.exit(3)) // Nobody is left to stop this server.
process.channel?.unref()

process.exit(await runServer(process.argv.slice(2)))
