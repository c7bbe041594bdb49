import { acl as acls } from '@zabra/client'
import { defineCommand } from '../../framework/command.ts'
import { UsageError } from '../../framework/errors.ts'
import { aclTexts, parseAclList, parseAclText } from '../../node/acl-text.ts'
import { cleanPath } from '../../node/paths.ts'
import { walk } from '../../node/walk.ts'
import { counted } from '../../output/units.ts'

export const command = defineCommand({
  arguments: {
    path: { kind: 'path' },
    acl: {
      kind: 'text',
      many: true,
      help: 'SCHEME:ID:PERMISSIONS; c create, d delete, r read, w write, a admin',
    },
  },
  options: {
    recursive: { type: 'flag', short: 'R', help: 'also for the whole subtree' },
    ifVersion: {
      type: 'integer',
      short: 'v',
      value: 'N',
      help: 'only if the ACL has this version (aversion)',
    },
  },
  details: `password:USER:PASSWORD:PERMISSIONS becomes the digest entry of a user; the hash is computed locally.

auth::PERMISSIONS means the identities of this connection (--auth).`,
  examples: [
    [
      'zabra acl set /app world:anyone:r password:ann:secret:cdrwa',
      'everybody may read, ann may do everything',
    ],
    [
      'zabra acl set -R /app auth::cdrwa --auth digest:ann:secret',
      'only ann, for everything below /app',
    ],
  ],
  async run({ args, options, out, signal, connect }) {
    const path = cleanPath(args.path)
    const acl = args.acl.flatMap((text) =>
      text.startsWith('password:') ? passwordAcl(text) : parseAclList(text),
    )
    const client = await connect()
    if (options.recursive !== true) {
      const stat = await client.setAcl(path, acl, { ifVersion: options.ifVersion })
      if (out.json) await out.data({ path, acl: aclTexts(acl), aversion: stat.aversion })
      return
    }
    if (options.ifVersion !== undefined) throw new UsageError('--if-version is for one node')
    const paths: string[] = []
    for await (const node of walk(client, path, { signal })) paths.push(node.path)
    const progress = out.progress('changing', paths.length)
    for (let at = 0; at < paths.length; at += 100) {
      signal.throwIfAborted()
      await Promise.all(paths.slice(at, at + 100).map((one) => client.setAcl(one, acl)))
      progress.add(Math.min(100, paths.length - at))
    }
    progress.end()
    if (out.json) await out.data({ path, acl: aclTexts(acl), changed: paths.length })
    else out.note(`changed the ACL of ${counted(paths.length, 'node')}`)
  },
})

function passwordAcl(text: string) {
  const [, user = '', ...rest] = text.split(':')
  const letters = rest.pop() ?? ''
  const password = rest.join(':')
  if (user === '' || password === '')
    throw new UsageError('password:USER:PASSWORD:PERMISSIONS is the entry of a user')
  const { perms } = parseAclText(`digest:x:${letters}`)
  return acls.digest(user, password, perms)
}
