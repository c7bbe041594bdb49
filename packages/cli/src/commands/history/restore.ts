import { defineCommand } from '../../framework/command.ts'
import { UsageError } from '../../framework/errors.ts'
import { adminBases, askApi } from '../../ensemble/admin.ts'
import { cleanPath } from '../../node/paths.ts'

export const command = defineCommand({
  arguments: {
    path: { kind: 'path', help: 'the node' },
    point: { kind: 'text', help: 'as it was after this zxid (0x...), or at this time' },
  },
  options: {
    version: {
      type: 'integer',
      short: 'v',
      help: 'the version to replace; without it, whichever the node has',
    },
    acl: { type: 'flag', help: 'the ACL, too' },
    admin: {
      type: 'text',
      value: 'URL',
      help: 'admin port of the server to ask (default: asked of the server)',
    },
  },
  examples: [
    ['zabra history restore /app/config 0x10000002a', 'the data that it had then'],
    ['zabra history restore /app/config 0x10000002a -v 7', 'if nobody has changed it since'],
  ],
  async run({ args, options, out, settings, signal }) {
    const { version = -1 } = options
    if (version < -1) throw new UsageError('--version is -1 or more')
    const connection = settings()
    const named = options.admin === undefined ? [] : [options.admin]
    const [base = ''] = await adminBases(connection, named, signal)
    const path = cleanPath(args.path)
    const { zxid, node } = await askApi<{ zxid: string; node: { version: number } }>({
      base,
      path: '/api/v1/history/restore',
      method: 'POST',
      body: { path, at: args.point, version, acl: options.acl === true },
      settings: connection,
      signal,
    })
    if (out.json) return out.data({ at: zxid, node })
    out.line(`${path} is as it was at ${zxid}, as version ${node.version}`)
  },
})
