import { TimeoutError } from '@zabra/client'
import { Barrier } from '@zabra/recipes'
import { defineCommand } from '../../framework/command.ts'
import { exitCodes } from '../../framework/exit-codes.ts'
import { cleanPath } from '../../node/paths.ts'

export const command = defineCommand({
  arguments: { path: { kind: 'path' } },
  options: { wait: { type: 'duration', help: 'give up after this time, with exit code 1' } },
  examples: [['zabra barrier wait /maintenance && ./start', 'starts when the barrier is down']],
  async run({ args, options, out, connect, signal }) {
    const path = cleanPath(args.path)
    const client = await connect({ isLasting: true })
    const limit = options.wait === undefined ? {} : { timeoutMs: options.wait }
    try {
      await new Barrier(client, path).wait({ ...limit, signal })
    } catch (error) {
      if (!(error instanceof TimeoutError)) throw error
      if (out.json) await out.data({ path, isUp: true })
      else out.note(`the barrier ${path} is still up`)
      return exitCodes.no
    }
    if (out.json) await out.data({ path, isUp: false })
    return exitCodes.ok
  },
})
