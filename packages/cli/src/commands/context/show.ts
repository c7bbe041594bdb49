import { readContexts } from '../../connection/contexts.ts'
import { withoutCredentials, withoutPassword } from '../../connection/hide.ts'
import { defineCommand } from '../../framework/command.ts'
import { contextNamed } from '../../connection/context-named.ts'
import { CommandError } from '../../framework/errors.ts'
import { exitCodes } from '../../framework/exit-codes.ts'

export const command = defineCommand({
  offline: true,
  arguments: { name: { kind: 'context', optional: true, help: 'the current one by default' } },
  examples: [['zabra context show prod', 'the servers and options of `--context prod`']],
  async run({ args, out, io }) {
    const all = readContexts(io.env)
    const name = args.name ?? all.current
    if (name === undefined)
      throw new CommandError('there is no current context', {
        code: 'noContext',
        exitCode: exitCodes.notFound,
        hint: '`zabra context add NAME --servers HOSTS` makes one',
      })
    const { servers, auth = [], ...rest } = contextNamed(all, name)
    const shown = {
      name,
      isCurrent: name === all.current,
      servers: withoutPassword(servers),
      auth: auth.map(withoutCredentials),
      ...rest,
    }
    if (out.json) return out.data(shown)
    const { tls, ...flat } = shown
    const files = Object.entries(tls ?? {}).map(([key, value]) => [`tls ${key}`, String(value)])
    const lines = Object.entries(flat).map(([key, value]) => [key, String(value)])
    out.table(['', ''], [...lines, ...files], { isBare: true })
  },
})
