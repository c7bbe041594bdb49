import { defineCommand } from '../../framework/command.ts'
import { aclTexts } from '../../node/acl-text.ts'
import { cleanPath } from '../../node/paths.ts'
import { walk } from '../../node/walk.ts'

export const command = defineCommand({
  arguments: { path: { kind: 'path' } },
  options: {
    recursive: { type: 'flag', short: 'R', help: 'also for the whole subtree' },
  },
  examples: [
    ['zabra acl get /app', 'one entry per line, as `zabra acl set` expects them'],
    ['zabra acl get -R /app', 'the path, and its entries'],
  ],
  async run({ args, options, out, signal, connect }) {
    const path = cleanPath(args.path)
    const client = await connect()
    if (options.recursive !== true) {
      const { acl, stat } = await client.getAcl(path)
      if (out.json) await out.data({ path, acl: aclTexts(acl), aversion: stat.aversion })
      else for (const text of aclTexts(acl)) out.line(text)
      return
    }
    const nodes: { path: string; acl: string[] | null }[] = []
    for await (const node of walk(client, path, { signal, acl: true })) {
      const acl = node.acl === undefined ? null : aclTexts(node.acl)
      if (out.json) nodes.push({ path: node.path, acl })
      else out.line(`${node.path}  ${acl?.join(',') ?? '(not allowed)'}`)
    }
    if (out.json) await out.data({ path, nodes })
  },
})
