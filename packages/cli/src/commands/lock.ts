import { Lock, ReadWriteLock, type Held } from '@zabra/recipes'
import { defineCommand } from '../framework/command.ts'
import { defaultId, holdingOptions } from '../holding/options.ts'
import { checkGrace, codeOf, defaultGraceMs, runHolding } from '../holding/run-holding.ts'
import { take } from '../holding/take.ts'
import { cleanPath } from '../node/paths.ts'

export const command = defineCommand({
  arguments: { path: { kind: 'path', help: 'of the lock; created if missing' } },
  options: {
    ...holdingOptions,
    read: { type: 'flag', help: 'take a read/write lock for reading' },
    writer: { type: 'flag', help: 'take a read/write lock for writing' },
  },
  program: 'required',
  details: `Waits for the lock, runs the program, and releases the lock. Shares locks with zabra's recipes, Curator and kazoo.
Exits with the exit code of the program.

ZABRA_LOCK_TOKEN in the environment of the program grows from one holder to the next. Pass it to whatever the
program writes to, so that a former holder can be refused there. When the session is about to expire, the program
gets SIGTERM, and SIGKILL before another client can hold the lock.`,
  examples: [
    ['zabra lock /locks/report -- ./make-report', 'one report at a time, on any machine'],
    [
      'zabra lock /locks/cron --wait 0 -- ./nightly',
      'skips its turn if another one runs (exit code 6)',
    ],
    ['zabra lock /locks/db --read -- ./backup', 'with other readers, while nobody writes'],
  ],
  async run(invocation) {
    const { args, options, signal, io, connect } = invocation
    const path = cleanPath(args.path)
    const what = `the lock ${path}`
    const { grace: graceMs = defaultGraceMs } = options
    const client = await connect({ isLasting: true })
    checkGrace(graceMs, client)
    const own = { id: options.id ?? defaultId(io.env), lostOn: 'expired' } as const
    const held: Held = await take(
      what,
      options.wait,
      () => {
        if (options.read === true)
          return new ReadWriteLock(client, path, own).read.tryAcquire({ signal })
        if (options.writer === true)
          return new ReadWriteLock(client, path, own).write.tryAcquire({ signal })
        return new Lock(client, path, own).tryAcquire({ signal })
      },
      (limit) => {
        const waiting = { ...limit, signal }
        if (options.read === true) return new ReadWriteLock(client, path, own).read.acquire(waiting)
        if (options.writer === true)
          return new ReadWriteLock(client, path, own).write.acquire(waiting)
        return new Lock(client, path, own).acquire(waiting)
      },
    )
    try {
      const env = {
        ZABRA_LOCK_PATH: path,
        ZABRA_LOCK_NODE: held.path,
        ZABRA_LOCK_TOKEN: String(held.token),
      }
      const ending = await runHolding(invocation, { what, held, client, env, graceMs })
      return codeOf(ending, what)
    } finally {
      await held.release().catch(() => {})
    }
  },
})
