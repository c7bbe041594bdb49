import { contextNamed } from '../../connection/context-named.ts'
import { readContexts, writeContexts } from '../../connection/contexts.ts'
import { defineCommand } from '../../framework/command.ts'

export const command = defineCommand({
  offline: true,
  arguments: { name: { kind: 'context' } },
  examples: [['zabra context use prod', 'from now on `zabra ls /` uses the servers of prod']],
  async run({ args, out, io }) {
    const all = readContexts(io.env)
    contextNamed(all, args.name)
    writeContexts(io.env, { ...all, current: args.name })
    if (out.json) await out.data({ name: args.name, isCurrent: true })
  },
})
