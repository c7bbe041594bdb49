import { defineCommand } from '../framework/command.ts'
import { exitCodes } from '../framework/exit-codes.ts'
import type { Line } from '@zabra/protocol'
import { findLines } from '../holding/find-lines.ts'
import { cleanPath } from '../node/paths.ts'
import { hex, isoTime } from '../node/stat.ts'
import { lasting } from '../output/ago.ts'

export const command = defineCommand({
  arguments: {
    path: { kind: 'path', optional: true, help: 'where to look; everywhere by default' },
  },
  options: {
    longer: { type: 'duration', help: 'only those with a waiter that has waited longer than this' },
    check: { type: 'flag', help: 'exit with 1 if there is any, for scripts' },
  },
  details: `Finds locks, read/write locks, elections and semaphores by the names of their nodes, in the layouts of zabra,
Curator and kazoo, and shows their holders and waiters in order. TOKEN is the fencing token. SINCE counts from the
time the contender began to wait, which for a holder is before it got the lock.`,
  examples: [
    ['zabra locks', 'every lock of the tree'],
    ['zabra locks /app --longer 1m', 'those below /app with a long wait'],
    [`zabra locks --json | jq -c 'select(.waiting | length > 3)'`, 'those with many waiters'],
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
          each.holds ? `  ${green(line.kind === 'election' ? 'leads' : 'holds')}` : '  waits',
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
