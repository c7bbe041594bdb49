import { Semaphore } from '@zabra/recipes'
import { defineCommand } from '../framework/command.ts'
import { UsageError } from '../framework/errors.ts'
import { defaultId, holdingOptions } from '../holding/options.ts'
import { checkGrace, codeOf, defaultGraceMs, runHolding } from '../holding/run-holding.ts'
import { take } from '../holding/take.ts'
import { cleanPath } from '../node/paths.ts'

export const command = defineCommand({
  arguments: { path: { kind: 'path', help: 'of the semaphore; created if missing' } },
  options: {
    ...holdingOptions,
    permits: {
      type: 'integer',
      min: 1,
      help: 'how many may run at a time; must be the same for all users of the path',
    },
    take: { type: 'integer', min: 1, help: 'how many permits this program takes (1)' },
  },
  program: 'required',
  details: `Waits for a permit, runs the program, and releases the permit. The layout is Curator's InterProcessSemaphoreV2.
Exits with the exit code of the program. A lost session ends the program as with \`zabra lock\`.`,
  examples: [['zabra semaphore /limits/export --permits 3 -- ./export', 'three exports at a time']],
  async run(invocation) {
    const { args, options, signal, io, connect } = invocation
    if (options.permits === undefined)
      throw new UsageError('--permits is missing', 'it says how many may run at a time')
    const path = cleanPath(args.path)
    const what = `a permit of ${path}`
    const { grace: graceMs = defaultGraceMs, take: permits = 1 } = options
    const client = await connect({ isLasting: true })
    checkGrace(graceMs, client)
    const own = { id: options.id ?? defaultId(io.env), lostOn: 'expired' } as const
    const semaphore = new Semaphore(client, path, options.permits, own)
    const held = await take(
      what,
      options.wait,
      () => semaphore.tryAcquire({ permits, signal }),
      (limit) => semaphore.acquire({ ...limit, permits, signal }),
    )
    try {
      const env = { ZABRA_SEMAPHORE_PATH: path, ZABRA_SEMAPHORE_TOKEN: String(held.token) }
      const ending = await runHolding(invocation, { what, held, client, env, graceMs })
      return codeOf(ending, what)
    } finally {
      await held.release().catch(() => {})
    }
  },
})
