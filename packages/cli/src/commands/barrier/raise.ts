import { Barrier } from '@zabra/recipes'
import { defineCommand } from '../../framework/command.ts'
import { cleanPath } from '../../node/paths.ts'

export const command = defineCommand({
  arguments: { path: { kind: 'path' } },
  details:
    'Does nothing if the barrier is already up. The layout is that of Curator and kazoo: the node is the barrier.',
  examples: [['zabra barrier raise /maintenance', 'programs that wait for it stop']],
  async run({ args, out, connect, signal }) {
    const path = cleanPath(args.path)
    await new Barrier(await connect(), path).raise({ signal })
    if (out.json) await out.data({ path, isUp: true })
  },
})
