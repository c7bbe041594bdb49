import { defineCommand } from '../framework/command.ts'
import { exitCodes } from '../framework/exit-codes.ts'
import { findLines, type Line } from '../holding/find-lines.ts'
import { cleanPath } from '../node/paths.ts'
import { hex, isoTime } from '../node/stat.ts'
import { lasting } from '../output/ago.ts'

export const command = defineCommand({
  arguments: {
    path: { kind: 'path', optional: true, help: 'where to look; everywhere without it' },
  },
  options: {
    longer: { type: 'duration', help: 'only those where somebody has waited longer than this' },
    check: { type: 'flag', help: 'exit code 1 when there is any, for scripts' },
  },
  details: `Finds locks, read/write locks, elections and semaphores by the names of their nodes, in the layouts of zabra,
Curator and kazoo: who holds them, and who waits, in order. TOKEN is the fencing token. SINCE counts from when the
contender began to wait, which for a holder is before it got the lock.`,
  examples: [
    ['zabra locks', 'every lock of the tree'],
    ['zabra locks /app --longer 1m', 'those below /app that keep somebody waiting'],
    [`zabra locks --json | jq -c 'select(.waiting | length > 3)'`, 'crowded ones'],
  ],
  async run({ args, options, out, connect, signal }) {
    const client = await connect()
    const { longer = 0 } = options
    let found = 0
    const progress = out.progress('looking')
    const now = Date.now()
    for await (const line of findLines(client, cleanPath(args.path ?? '/'), signal)) {
      progress.add()
      const waiting = line.contenders.filter(({ holds }) => !holds)
      if (longer > 0 && !waiting.some(({ sinceMs }) => now - sinceMs > longer)) continue
      found++
      if (out.json) {
        out.dataLine(lineJson(line))
        continue
      }
      const { bold, green } = out.style
      out.line(`${bold(line.path)}  ${line.kind}`)
      out.table(
        [],
        line.contenders.map((each) => [
          each.holds ? `  ${green('holds')}` : '  waits',
          each.mode ?? '',
          each.id === '' ? '-' : each.id,
          `session ${hex(each.session)}`,
          `token ${each.token}`,
          lasting(now - each.sinceMs),
          each.library,
        ]),
        { isBare: true },
      )
    }
    progress.end()
    if (found === 0) out.note('nobody holds a lock or waits for one')
    return options.check === true && found > 0 ? exitCodes.no : exitCodes.ok
  },
})

function lineJson({ path, kind, contenders }: Line): object {
  const shown = contenders.map(({ holds, sinceMs, token, session, mode, ...rest }) => ({
    holds,
    json: {
      ...rest,
      ...(mode === undefined ? {} : { mode }),
      session: hex(session),
      token: String(token),
      since: isoTime(BigInt(sinceMs)),
    },
  }))
  return {
    path,
    kind,
    holders: shown.filter(({ holds }) => holds).map(({ json }) => json),
    waiting: shown.filter(({ holds }) => !holds).map(({ json }) => json),
  }
}
