import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve as resolvePath } from 'node:path'
import { openClient } from '../connection/connect.ts'
import { connectionSettings, type ConnectionSettings } from '../connection/settings.ts'
import { secureConnectionString, type TlsFiles } from '../connection/target.ts'
import { openBrowser } from '../dev/open-browser.ts'
import { issueCertificates } from '../dev/certificates.ts'
import { launcher } from '../dev/launcher.ts'
import { addressOf, Member, type MemberPlan } from '../dev/member.ts'
import { freePorts, portsFrom } from '../dev/ports.ts'
import { parseAddress } from '../ensemble/address.ts'
import { askOptions } from '../ensemble/ask-options.ts'
import { askWord, type AskOptions } from '../ensemble/four-letter.ts'
import { defineCommand } from '../framework/command.ts'
import { CommandError, UsageError } from '../framework/errors.ts'
import { runProgram } from '../node/run-program.ts'
import { counted } from '../output/units.ts'

const usualPort = 2181
const usualTlsPort = 2281
const readyTimeoutMs = 30_000
const roleTimeoutMs = 2000
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
      help: 'client port of the first server; 2181 (2281 with --tls), or a free one',
    },
    tls: { type: 'flag', help: 'make certificates, and use TLS for clients and between servers' },
    dataDir: {
      type: 'text',
      value: 'DIR',
      kind: 'file',
      help: 'directory of the data, which is kept for the next run',
    },
    open: { type: 'flag', help: 'open the console in the browser' },
    keep: { type: 'flag', help: 'keep the data at the end' },
  },
  details: `Starts temporary servers on the loopback interface, for experiments and tests, and prints how to connect. Each
server is a separate process: kill one to see what happens. TTL nodes and all four-letter words are enabled. At the
end, the data is deleted unless you keep it.

With --tls the servers accept only clients with a certificate. The connect string names the files that a client needs.

With -- PROGRAM it runs a program with ZABRA_SERVERS in its environment (and, with --tls, ZABRA_TLS_CA, ZABRA_TLS_CERT
and ZABRA_TLS_KEY), and exits with the exit code of the program.`,
  examples: [
    ['zabra dev', 'one server, until Ctrl-C'],
    ['zabra dev --servers 3', 'an ensemble'],
    ['zabra dev --open', 'with the web console in your browser'],
    ['zabra dev -- npm test', 'a server for the duration of a test'],
    ['zabra dev --servers 3 --tls', 'the same with TLS'],
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
      const hasTls = options.tls === true
      const tls = hasTls ? await issueCertificates(join(top, 'certificates'), count) : undefined
      const ports = await choosePorts(count, options.port, hasTls)
      const plans = ports.map((own, index): MemberPlan => ({
        id: index + 1,
        folder: join(top, `server-${index + 1}`),
        ...own,
        tlsLines: tls?.linesOf(index + 1, own.clientPort),
      }))
      const words = launcher()
      members.push(...plans.map((plan) => new Member(plan, plans, words)))
      const addresses = plans.map(addressOf).join(',')
      const servers =
        tls === undefined ? addresses : secureConnectionString(addresses, tls.clientFiles)
      const settings: ConnectionSettings = {
        ...connectionSettings({ servers }, {}),
        timeoutMs: readyTimeoutMs,
        origin: 'zabra dev',
      }
      await untilReady(members, settings, signal)
      const readyMs = Math.round(performance.now() - startedMs)
      const asking = await askOptions({ ...settings, timeoutMs: roleTimeoutMs }, signal)
      const shown = await Promise.all(
        members.map(async ({ plan, pid }) => ({
          id: plan.id,
          address: addressOf(plan),
          role: await roleWhenReady(addressOf(plan), asking),
          admin: `http://127.0.0.1:${plan.adminPort}`,
          pid,
        })),
      )
      if (program.length > 0) {
        const env = { ...io.env, ZABRA_SERVERS: servers, ...tlsVariables(tls?.clientFiles) }
        return await handOver(() => runProgram(program, { ...io, env }))
      }
      if (out.json) {
        const files = tls === undefined ? {} : { tls: tls.clientFiles }
        await out.data({ servers, ...files, members: shown, dataDir: top, isKept, readyMs })
      } else {
        const { style } = out
        out.line(`${counted(count, 'server')}${hasTls ? ' with TLS' : ''}, ready in ${readyMs} ms`)
        out.line(`  connect  ${style.bold(servers)}`)
        out.table(
          [],
          shown.map(({ id, address, role, admin, pid }) => [
            `  server ${id}`,
            address,
            role,
            `console ${admin}`,
            `pid ${pid}`,
          ]),
          { isBare: true },
        )
        out.line(`  data     ${top}${isKept ? '' : ' (deleted at the end; --keep keeps it)'}`)
        // Started by npx, the command is not on the path.
        const own = io.env['npm_command'] === 'exec' ? 'npx zabra' : 'zabra'
        out.line(`  shell    ${own} shell --servers ${hasTls ? `'${servers}'` : servers}`)
      }
      if (options.open === true) {
        const problem = await openBrowser(shown[0]!.admin, io.env)
        if (problem !== undefined) out.warn(`no browser was opened: ${problem}`)
      }
      out.note('Ctrl-C stops')
      await untilOver(members, signal, (text) => out.warn(text))
    } finally {
      await Promise.all(members.map((member) => member.stop()))
      if (isKept) {
        out.note(
          `the data stays in ${top}; continue with \`zabra dev --servers ${count}${options.tls === true ? ' --tls' : ''} --data-dir ${top}\``,
        )
      } else rmSync(top, { recursive: true, force: true })
    }
  },
})

type Ports = Pick<MemberPlan, 'clientPort' | 'adminPort' | 'quorumPort' | 'electionPort'>

async function choosePorts(
  count: number,
  port: number | undefined,
  hasTls: boolean,
): Promise<Ports[]> {
  const row = await portsFrom(port ?? (hasTls ? usualTlsPort : usualPort), count)
  if (row === undefined && port !== undefined)
    throw new CommandError(`a port from ${port} to ${port + count - 1} is taken`, {
      hint: 'without --port free ones are chosen',
    })
  const free = await freePorts(count * 4)
  return Array.from({ length: count }, (_, index) => ({
    clientPort: row?.[index] ?? free[index * 4]!,
    adminPort: free[index * 4 + 1]!,
    quorumPort: free[index * 4 + 2]!,
    electionPort: free[index * 4 + 3]!,
  }))
}

/** Environment variables for the command itself, and for programs that do not know `zks://`. */
function tlsVariables(files: TlsFiles | undefined): Record<string, string | undefined> {
  if (files === undefined) return {}
  return {
    ZABRA_TLS_CA: files.ca,
    ZABRA_TLS_CERT: files.cert,
    ZABRA_TLS_KEY: files.key ?? files.cert,
  }
}

/** Until a session can be made; fails as soon as a server has ended. */
async function untilReady(
  members: readonly Member[],
  settings: ConnectionSettings,
  signal: AbortSignal,
): Promise<void> {
  const stopped = new AbortController()
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
async function roleWhenReady(address: string, asking: AskOptions): Promise<string> {
  for (let attempts = 0; ; attempts++) {
    const answer = await askWord(parseAddress(address), 'srvr', asking).catch(() => '')
    const role = /^Mode: (\w+)/m.exec(answer)?.[1]
    if (role !== undefined) return role
    if (attempts > 50 || asking.signal?.aborted === true) return 'starting'
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
