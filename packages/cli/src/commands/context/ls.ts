import { readContexts } from '../../connection/contexts.ts'
import { withoutPassword } from '../../connection/hide.ts'
import { defineCommand } from '../../framework/command.ts'

export const command = defineCommand({
  offline: true,
  examples: [['zabra context ls', 'the current context is marked with a star']],
  async run({ out, io }) {
    const { current, contexts } = readContexts(io.env)
    const rows = Object.entries(contexts).map(([name, { servers }]) => ({
      name,
      servers: withoutPassword(servers),
      isCurrent: name === current,
    }))
    if (out.json) return out.data({ contexts: rows })
    if (rows.length === 0)
      return out.note('no contexts; `zabra context add NAME --servers HOSTS` makes one')
    out.table(
      ['', 'NAME', 'SERVERS'],
      rows.map(({ name, servers, isCurrent }) => [isCurrent ? '*' : '', name, servers]),
    )
  },
})
