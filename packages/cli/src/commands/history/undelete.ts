import { defineCommand } from '../../framework/command.ts'
import { adminBases, askApi } from '../../ensemble/admin.ts'
import { cleanPath } from '../../node/paths.ts'

interface Undeleted {
  readonly created: number
  readonly bytes: number
  readonly existing: number
  readonly ephemerals: number
  readonly zxid: string
  readonly isDone: boolean
}

export const command = defineCommand({
  arguments: { path: { kind: 'text', help: 'the deleted node' } },
  options: {
    at: {
      type: 'text',
      value: 'ZXID|TIME',
      help: 'as it was then (default: before it was deleted last)',
    },
    dryRun: { type: 'flag', help: 'only show what would come back' },
    admin: {
      type: 'text',
      value: 'URL',
      help: 'admin port of the server to ask (default: asked of the server)',
    },
  },
  details: `Creates a deleted node again with all that was below it, with data, ACLs, containers and TTLs, by ordinary writes with the
rights of the identity. Nodes that exist are left alone; ephemeral nodes stay gone.`,
  examples: [
    ['zabra history undelete /app/config --dry-run', 'what would come back'],
    ['zabra history undelete /app --at 2026-01-31T08:00Z', 'all that is missing below /app'],
  ],
  async run({ args, options, out, settings, signal }) {
    const connection = settings()
    const named = options.admin === undefined ? [] : [options.admin]
    const [base = ''] = await adminBases(connection, named, signal)
    const path = cleanPath(args.path)
    const done = await askApi<Undeleted>({
      base,
      path: '/api/v1/history/undelete',
      method: 'POST',
      body: {
        path,
        ...(options.at === undefined ? {} : { at: options.at }),
        dryRun: options.dryRun === true,
      },
      settings: connection,
      signal,
    })
    if (out.json) return out.data({ path, ...done })
    const verb = done.isDone ? 'created' : 'would create'
    const left = [
      ...(done.existing > 0 ? [`${done.existing} exist`] : []),
      ...(done.ephemerals > 0 ? [`${done.ephemerals} were ephemeral`] : []),
    ]
    out.line(
      `${verb} ${done.created} nodes, ${done.bytes} bytes, as of ${done.zxid}${left.length === 0 ? '' : ` (${left.join(', ')})`}`,
    )
  },
})
