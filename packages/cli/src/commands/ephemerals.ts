import { defineCommand } from '../framework/command.ts'
import { UsageError } from '../framework/errors.ts'
import { cleanPath } from '../node/paths.ts'
import { hex, isEphemeral, isoTime } from '../node/stat.ts'
import { walk } from '../node/walk.ts'

export const command = defineCommand({
  arguments: {
    path: { kind: 'path', optional: true, help: 'where to look; everywhere by default' },
  },
  options: {
    session: { type: 'text', value: 'ID', help: 'only those of this session, in hexadecimal' },
    bySession: { type: 'flag', help: 'count them by session, largest first' },
  },
  examples: [
    ['zabra ephemerals', 'every ephemeral node with its session'],
    ['zabra ephemerals /services --by-session', 'how many each session has'],
  ],
  async run({ args, options, out, connect, signal }) {
    const wanted = options.session === undefined ? undefined : sessionId(options.session)
    const client = await connect()
    const counts = new Map<string, number>()
    const rows: string[][] = []
    const progress = out.progress('looking')
    for await (const { path, stat } of walk(client, cleanPath(args.path ?? '/'), { signal })) {
      progress.add()
      if (stat === undefined || !isEphemeral(stat)) continue
      const session = hex(stat.ephemeralOwner)
      if (wanted !== undefined && session !== wanted) continue
      counts.set(session, (counts.get(session) ?? 0) + 1)
      if (options.bySession === true) continue
      if (out.json) out.dataLine({ path, session, ctime: isoTime(stat.ctime) })
      else rows.push([path, session, isoTime(stat.ctime)])
    }
    progress.end()
    if (options.bySession !== true) {
      if (out.json) return
      if (rows.length === 0) return out.note('there are no ephemeral nodes')
      return out.table(['PATH', 'SESSION', 'CREATED'], rows)
    }
    const sessions = [...counts].toSorted(([, a], [, b]) => b - a)
    if (out.json) await out.data(sessions.map(([session, nodes]) => ({ session, nodes })))
    else out.table(['SESSION', 'NODES'], sessions)
  },
})

function sessionId(text: string): string {
  const digits = text.replace(/^0x/i, '')
  if (!/^[0-9a-f]{1,16}$/i.test(digits))
    throw new UsageError(`--session is a hexadecimal number, not '${text}'`)
  return hex(BigInt(`0x${digits}`))
}
