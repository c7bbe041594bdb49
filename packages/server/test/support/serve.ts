/**
 * Runs `zabra server` from the sources, as a process for tests. On request of its parent it also
 * reports the memory it holds after a collection, and makes calls that write to files fail.
 * COUNTER_MAX makes its epochs short.
 */
import { EnsemblePeer } from '@zabra/core'
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
process.on('disconnect', () => process.exit(3)) // The parent, which would stop this server, has exited.
process.channel?.unref()

const { COUNTER_MAX } = process.env
if (COUNTER_MAX !== undefined) shortenEpochs(BigInt(COUNTER_MAX))

process.exit(await runServer(process.argv.slice(2)))

/** There is no setting for this, so it is changed from outside. */
function shortenEpochs(counterMax: bigint): void {
  const run = Reflect.get(EnsemblePeer.prototype, 'run') as () => Promise<void>
  EnsemblePeer.prototype.run = function (this: EnsemblePeer) {
    Reflect.set(Reflect.get(this, 'options') as object, 'counterMax', counterMax)
    return run.call(this)
  }
}
