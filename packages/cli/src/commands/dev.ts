import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve as resolvePath } from 'node:path'
import { openClient } from '../connection/connect.ts'
import { launcher } from '../dev/launcher.ts'
import { addressOf, Member, type MemberPlan } from '../dev/member.ts'
import { freePorts, portsFrom } from '../dev/ports.ts'
import { roleOf } from '../dev/role.ts'
import { defineCommand } from '../framework/command.ts'
import { CommandError, UsageError } from '../framework/errors.ts'
import { runProgram } from '../node/run-program.ts'
import { counted } from '../output/units.ts'

const usualPort = 2181
const readyTimeoutMs = 30_000
const serversMax = 9

export const command = defineCommand({
  offline: true,
  program: 'optional',
  options: {
    servers: { type: 'integer', short: 'n', value: 'N', help: 'how many servers; 1 by default' },
    port: {
      type: 'integer',
      short: 'p',
      value: 'PORT',
      help: 'client port of the first server; 2181, or a free one',
    },
    dataDir: {
      type: 'text',
      value: 'DIR',
      kind: 'file',
      help: 'directory of the data, which is kept for the next run',
    },
    keep: { type: 'flag', help: 'keep the data at the end' },
  },
  details: `Starts temporary servers on the loopback interface, for experiments and tests, and prints how to connect. Each
server is a separate process: kill one to see what happens. TTL nodes and all four-letter words are enabled. At the
end, the data is deleted unless you keep it.

With -- PROGRAM it runs a program with ZABRA_SERVERS in its environment, and exits with the exit code of the
program.`,
  examples: [
    ['zabra dev', 'one server, until Ctrl-C'],
    ['zabra dev --servers 3', 'an ensemble'],
    ['zabra dev -- npm test', 'a server for the duration of a test'],
    ['zabra dev --servers 3 --data-dir ./zk', 'keeps the data in ./zk'],
  ],
  async run({ options, program, out, io, signal, handOver }) {
    const count = options.servers ?? 1
    if (count < 1 || count > serversMax)
      throw new UsageError(`--servers is a number from 1 to ${serversMax}`)
    const startedMs = performance.now()
    const isTemporary = options.dataDir === undefined
    const top =
      options.dataDir === undefined
        ? mkdtempSync(join(tmpdir(), 'zabra-dev-'))
        : resolvePath(options.dataDir)
    const isKept = options.keep === true || !isTemporary
    mkdirSync(top, { recursive: true })
    const members: Member[] = []
    try {
      const plans = await planMembers(top, count, options.port)
      const words = launcher()
      members.push(...plans.map((plan) => new Member(plan, plans, words)))
      const servers = plans.map(addressOf).join(',')
      await untilReady(members, servers, signal)
      const readyMs = Math.round(performance.now() - startedMs)
      const shown = await Promise.all(
        members.map(async ({ plan, pid }) => ({
          id: plan.id,
          address: addressOf(plan),
          role: await roleWhenReady(plan.clientPort, signal),
          admin: `http://127.0.0.1:${plan.adminPort}`,
          pid,
        })),
      )
      if (program.length > 0) {
        return await handOver(() =>
          runProgram(program, { ...io, env: { ...io.env, ZABRA_SERVERS: servers } }),
        )
      }
      if (out.json) await out.data({ servers, members: shown, dataDir: top, isKept, readyMs })
      else {
        const { style } = out
        out.line(`${counted(count, 'server')}, ready in ${readyMs} ms`)
        out.line(`  connect  ${style.bold(servers)}`)
        for (const { id, address, role, admin, pid } of shown)
          out.line(`  server ${id} ${address}  ${role}  admin ${admin}  pid ${pid}`)
        out.line(`  data     ${top}${isKept ? '' : ' (thrown away at the end; --keep keeps it)'}`)
        out.line(`  shell    zabra shell --servers ${servers}`)
      }
      out.note('Ctrl-C stops')
      await untilOver(members, signal, (text) => out.warn(text))
    } finally {
      await Promise.all(members.map((member) => member.stop()))
      if (isKept) {
        out.note(
          `the data stay in ${top}; \`zabra dev --servers ${count} --data-dir ${top}\` goes on with them`,
        )
      } else rmSync(top, { recursive: true, force: true })
    }
  },
})

async function planMembers(
  top: string,
  count: number,
  port: number | undefined,
): Promise<MemberPlan[]> {
  const row = await portsFrom(port ?? usualPort, count)
  if (row === undefined && port !== undefined)
    throw new CommandError(`a port from ${port} to ${port + count - 1} is taken`, {
      hint: 'without --port free ones are chosen',
    })
  const free = await freePorts(count * 4)
  return Array.from({ length: count }, (_, index) => ({
    id: index + 1,
    folder: join(top, `server-${index + 1}`),
    clientPort: row?.[index] ?? free[index * 4]!,
    adminPort: free[index * 4 + 1]!,
    quorumPort: free[index * 4 + 2]!,
    electionPort: free[index * 4 + 3]!,
  }))
}

/** Until a session can be made; fails as soon as a server has ended. */
async function untilReady(
  members: readonly Member[],
  servers: string,
  signal: AbortSignal,
): Promise<void> {
  const stopped = new AbortController()
  const settings = {
    servers,
    auth: [],
    tls: undefined,
    timeoutMs: readyTimeoutMs,
    sessionTimeoutMs: 10_000,
    readOnly: false,
    origin: 'zabra dev',
  }
  const connecting = openClient(settings, { signal: AbortSignal.any([signal, stopped.signal]) })
  const failing = members.map(async (member) => {
    const how = await member.ended
    throw new CommandError(`server ${member.plan.id} ended with ${how}\n${member.logTail()}`)
  })
  for (const one of failing) one.catch(() => {})
  try {
    const client = await Promise.race([connecting, ...failing])
    await client.close()
  } catch (error) {
    stopped.abort()
    await connecting.then((client) => client.close()).catch(() => {})
    throw error
  }
}

/** An ensemble serves when most of its members do; the others need a moment longer. */
async function roleWhenReady(port: number, signal: AbortSignal): Promise<string> {
  for (let attempts = 0; ; attempts++) {
    const role = await roleOf(port)
    if (role !== 'starting' || attempts > 50 || signal.aborted) return role
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}

async function untilOver(
  members: readonly Member[],
  signal: AbortSignal,
  warn: (text: string) => void,
): Promise<void> {
  if (signal.aborted) return
  const aborted = new Promise<void>((resume) =>
    signal.addEventListener('abort', () => resume(), { once: true }),
  )
  const all = members.map(async (member) => {
    const how = await member.ended
    if (!signal.aborted) warn(`server ${member.plan.id} ended with ${how}`)
  })
  const allEnded = Promise.all(all).then(() => {
    if (!signal.aborted) throw new CommandError('all servers have ended')
  })
  await Promise.race([aborted, allEnded])
  allEnded.catch(() => {})
}
