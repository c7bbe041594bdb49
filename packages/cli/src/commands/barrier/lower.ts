import { Barrier } from '@zabra/recipes'
import { defineCommand } from '../../framework/command.ts'
import { cleanPath } from '../../node/paths.ts'

export const command = defineCommand({
  arguments: { path: { kind: 'path' } },
  details: 'Does nothing if the barrier is already down.',
  examples: [['zabra barrier lower /maintenance', 'programs that wait for it continue']],
  async run({ args, out, connect, signal }) {
    const path = cleanPath(args.path)
    await new Barrier(await connect(), path).lower({ signal })
    if (out.json) await out.data({ path, isUp: false })
  },
})
