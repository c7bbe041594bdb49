// Plays the same scripts in Apache's zkCli.sh and in `zabra shell`, on Apache's server and on zabra,
// and compares what they print line by line: `npm run test:shell`.
import { spawnSync } from 'node:child_process'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { findApache } from '../src/apache.ts'
import { apacheCommand, zabraCommand, type ServerCommand } from '../src/commands.ts'
import { ManagedServer } from '../src/servers.ts'
import { say } from '../src/tools.ts'
import { explain, type Difference } from './expected.ts'
import { masked } from './mask.ts'
import { markCommand, Player, type Said } from './player.ts'
import { oneShotCommands, scripts, type Script } from './script.ts'

const bin = join(fileURLToPath(new URL('../..', import.meta.url)), 'bin', 'zabra')
const cfg = 'extendedTypesEnabled=true\nenforceQuota=true\n'
const properties = ['zookeeper.extendedTypesEnabled=true', 'zookeeper.enforceQuota=true']

interface Shell {
  readonly name: string
  readonly command: readonly string[]
}

const apache = await findApache('3.9')
if (!apache.ok) {
  say(`NOTHING WAS COMPARED: ${apache.reason}`)
  process.exit(0)
}
// Without JLine zkCli.sh prints no prompts between the answers, like `zabra shell` with a pipe.
const jars = apache.classPath.split(delimiter).filter((jar) => !jar.includes('jline'))
const quick = [
  '-Xmx256m',
  '-XX:TieredStopAtLevel=1',
  '-Dfile.encoding=UTF-8',
  '-Dstdout.encoding=UTF-8',
  '-Dstderr.encoding=UTF-8',
]
const quiet = ['-Dorg.slf4j.simpleLogger.defaultLogLevel=off']
const zkCli: Shell = {
  name: 'zkCli.sh',
  command: [
    'java',
    ...quick,
    ...quiet,
    '-cp',
    jars.join(delimiter),
    'org.apache.zookeeper.ZooKeeperMain',
  ],
}
const zabraShell: Shell = { name: 'zabra shell', command: [process.execPath, bin, 'shell'] }

const wanted = process.argv.slice(2)
const chosen = scripts.filter(({ name }) => wanted.length === 0 || wanted.includes(name))
let failures = 0
let lines = 0
const seen = new Map<string, number>()
for (const server of [apacheCommand(apache), zabraCommand()]) {
  for (const script of chosen) {
    const [left, right] = await Promise.all([
      played(zkCli, server, script),
      played(zabraShell, server, script),
    ])
    for (const difference of differencesOf(left, right)) report(server, script.name, difference)
    lines += left.length
  }
  for (const difference of await oneShots(server)) report(server, 'one command', difference)
}
for (const [reason, count] of seen) say(`expected, ${count} times: ${reason}`)
say(`${lines} commands on two servers, ${failures} unexpected differences`)
process.exitCode = failures === 0 ? 0 : 1

function report({ name }: ServerCommand, script: string, difference: Difference): void {
  const reason = explain(difference)
  if (reason !== undefined) {
    seen.set(reason, (seen.get(reason) ?? 0) + 1)
    return
  }
  failures++
  say(`DIFFERENT on ${name}, ${script}: ${difference.command}`)
  for (const line of difference.left) say(`  zkCli.sh     ${line}`)
  for (const line of difference.right) say(`  zabra shell  ${line}`)
}

/** Commands as scripts use them: each in a separate shell, with its exit code. */
async function oneShots(command: ServerCommand): Promise<Difference[]> {
  const server = new ManagedServer(command, { cfg, properties })
  await server.start()
  try {
    const env = { TZ: 'UTC', ZABRA_CONFIG_DIR: server.dir }
    const differences: Difference[] = []
    for (const words of oneShotCommands) {
      const at = ['-server', `${server.host}:${server.port}`]
      const [left, right] = [[] as string[], [] as string[]]
      // One after the other: the second one finds what the first one creates.
      for (const [shell, said] of [
        [zkCli, left],
        [zabraShell, right],
      ] as const) {
        const name = shell === zkCli ? 'a' : 'b'
        const own = words.map((word) => word.replaceAll('NAME', name))
        const [program = '', ...args] = [...shell.command, ...at, ...own]
        const { stdout, stderr, status } = spawnSync(program, args, {
          env: { ...process.env, ...env },
          encoding: 'utf8',
          timeout: 60_000,
        })
        const linesOf = (text: string): string[] => text.split('\n').slice(0, -1)
        const answer = { command: '', stdout: linesOf(stdout), stderr: linesOf(stderr) }
        const shown = textOf(masked(answer, server.port))
        said.push(...shown.map((line) => line.replaceAll(`/${name}`, '/NAME')), `exit ${status}`)
      }
      lines++
      if (left.join('\n') !== right.join('\n'))
        differences.push({ command: words.join(' '), left, right })
    }
    return differences
  } finally {
    await server.dispose()
  }
}

async function played(shell: Shell, command: ServerCommand, script: Script): Promise<Said[]> {
  const server = new ManagedServer(command, { cfg, properties })
  await server.start()
  const player = new Player([...shell.command, '-server', `${server.host}:${server.port}`], {
    TZ: 'UTC',
    ZABRA_CONFIG_DIR: server.dir,
  })
  try {
    const said: Said[] = []
    await player.play(markCommand)
    for (const line of script.lines) {
      const answer = await player.play(line.replaceAll('PORT', String(server.port)))
      said.push(masked({ ...answer, command: line }, server.port))
      if (player.isOver) break
    }
    return said
  } finally {
    await player.end()
    await server.dispose()
  }
}

function differencesOf(left: readonly Said[], right: readonly Said[]): Difference[] {
  const differences: Difference[] = []
  for (let i = 0; i < Math.max(left.length, right.length); i++) {
    const [one, other] = [left[i], right[i]]
    const [said, answered] = [textOf(one), textOf(other)]
    if (said.join('\n') !== answered.join('\n'))
      differences.push({ command: (one ?? other)!.command, left: said, right: answered })
  }
  return differences
}

function textOf(said: Said | undefined): string[] {
  if (said === undefined) return ['(it has ended)']
  return [...said.stdout.map((line) => `out ${line}`), ...said.stderr.map((line) => `err ${line}`)]
}
