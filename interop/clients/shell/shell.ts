import { delimiter } from 'node:path'
import { findApache, type ApacheRelease } from '../../src/apache.ts'
import type { ManagedServer } from '../../src/servers.ts'
import { runTool } from '../../src/tools.ts'
import type { Client, Verdict, Verdicts } from '../client.ts'
import { javaCommand } from '../java/prepare.ts'
import { Program } from '../program.ts'
import { batchScript, sessionScript, shellChecks, type Step } from './script.ts'

const main = 'org.apache.zookeeper.ZooKeeperMain'
const lateMs = 3000

/** Apache's command line, the program behind `zkCli.sh`. */
export function shell(release: ApacheRelease): Client {
  return {
    name: `shell-${release}`,
    checks: shellChecks,
    async prepare() {
      const apache = await findApache(release)
      if (!apache.ok) return apache
      // Without jline the shell reads commands from a pipe, one per line.
      const jars = apache.classPath.split(delimiter).filter((jar) => !/jline/.test(jar))
      const command = javaCommand(jars, main)
      return { ok: true, version: apache.version, run: (server) => runShell(command, server) }
    },
  }
}

async function runShell(command: readonly string[], server: ManagedServer): Promise<Verdicts> {
  const connected = [...command, '-server', `${server.host}:${server.port}`]
  const verdicts = new Map<string, Verdict>()
  await inOneSession(connected, verdicts)
  for (const step of batchScript) verdicts.set(step.name, await inBatch(connected, step))
  return verdicts
}

/** One shell, many commands: identities, watches and ephemerals last. */
async function inOneSession(
  command: readonly string[],
  verdicts: Map<string, Verdict>,
): Promise<void> {
  const program = new Program(command, { mergeErrors: true })
  try {
    await converseUntilMark(program, 0, 20_000, () => true)
    for (const [index, step] of sessionScript.entries()) {
      for (const line of step.commands) program.tell(line)
      const isAll = (said: string): boolean => judge(step, said).kind === 'ok'
      const said = await converseUntilMark(program, index + 1, 10_000, isAll)
      verdicts.set(step.name, judge(step, said))
    }
    program.tell('quit')
  } finally {
    await program.end()
  }
}

/**
 * A command with a node that cannot exist: the error about it marks the end of an answer. Another
 * thread prints events of watches, so they may come a moment later.
 */
async function converseUntilMark(
  program: Program,
  index: number,
  timeoutMs: number,
  isAll: (said: string) => boolean,
): Promise<string> {
  const mark = `/mark-${index}-`
  program.tell(`stat ${mark}`)
  let deadline = Date.now() + timeoutMs
  let isMarked = false
  const said: string[] = []
  for (;;) {
    if (isMarked && isAll(said.join('\n'))) return said.join('\n')
    const line = await program.nextLine(deadline - Date.now())
    if (line === undefined) return [...said, `(nothing more: ${program.ending})`].join('\n')
    if (line.includes(mark)) {
      isMarked = true
      deadline = Date.now() + lateMs
    } else said.push(line)
  }
}

/** A shell for one command, as scripts use it; its exit code shows the result. */
async function inBatch(command: readonly string[], step: Step): Promise<Verdict> {
  const [file = '', ...args] = command
  const said: string[] = []
  for (const line of step.commands) {
    const { ok, output } = await runTool(file, [...args, ...line.split(' ')], { timeoutMs: 20_000 })
    said.push(output, ok ? '(exit 0)' : '(exit not 0)')
  }
  return judge(step, said.join('\n'))
}

function judge({ commands, wanted }: Step, said: string): Verdict {
  const missing = wanted.find((pattern) => !pattern.test(said))
  if (missing === undefined) return { kind: 'ok' }
  const answer = said.trim().replaceAll('\n', ' | ')
  const why = `wanted ${missing.source} after ${commands.join('; ')}, but was told: ${answer}`
  return { kind: 'failed', why }
}
