import { contextNamed } from '../../connection/context-named.ts'
import { readContexts, writeContexts } from '../../connection/contexts.ts'
import { defineCommand } from '../../framework/command.ts'

export const command = defineCommand({
  offline: true,
  arguments: { name: { kind: 'context' } },
  examples: [['zabra context rm old', 'removes the context old; its servers are not affected']],
  async run({ args, out, io }) {
    const all = readContexts(io.env)
    contextNamed(all, args.name)
    const { [args.name]: _, ...contexts } = all.contexts
    const current = all.current === args.name ? undefined : all.current
    writeContexts(io.env, { current, contexts })
    if (out.json) await out.data({ name: args.name, current: current ?? null })
  },
})
