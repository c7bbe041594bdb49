import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { connect } from '@zabra/client'
import {
  against,
  isForeign,
  readBlocks,
  type Language,
} from '../../../scripts/doc-blocks/doc-blocks.ts'
import type { ManagedServer } from '../../src/servers.ts'
import { runTool, type ToolResult } from '../../src/tools.ts'
import { readme } from '../catalogue.ts'
import type { Client, UnpreparedClient, Verdict } from '../client.ts'
import { kazooVersion, pythonWithKazoo } from '../kazoo/prepare.ts'
import { npmClientVersions, npmModules } from '../node/prepare.ts'

const npmName = 'node-zookeeper-client'
const root = join(import.meta.dirname, '..', '..', '..')

/** Runs a text as a program, from a folder that contains its client. */
interface Interpreter {
  readonly ok: true
  readonly version: string
  readonly command: readonly string[]
  readonly cwd?: string
}

/** The Python programs of the README and of the guide for users of kazoo. */
export const readmePython = readmeClient('python', 'docs/coming-from-kazoo.md', async () => {
  const found = await pythonWithKazoo()
  if (!found.ok) return found
  return { ok: true, version: `kazoo ${kazooVersion}`, command: [found.program, '-c'] }
})

/** The programs of the README and of a guide for a client from npm. */
export const readmeNode = readmeClient('js', `docs/coming-from-${npmName}.md`, async () => {
  const name = npmName
  const found = await npmModules(name)
  if (!found.ok) return found
  const version = `${name} ${npmClientVersions[name]}`
  return { ok: true, version, command: [process.execPath, '-e'], cwd: found.home }
})

function readmeClient(
  language: Language,
  guide: string,
  find: () => Promise<Interpreter | UnpreparedClient>,
): Client {
  return {
    name: `readme-${language}`,
    checks: readme,
    async prepare() {
      const found = await find()
      if (!found.ok) return found
      const run = async (server: ManagedServer) =>
        new Map([
          ['lists', await listsNodes(language, found, server)],
          ['ported', await printsTheSame(guide, found, server)],
        ])
      return { ok: true, version: found.version, run }
    },
  }
}

/** The program must print the one node that the root of every server has. */
async function listsNodes(
  language: Language,
  { command: [file = '', ...args], cwd }: Interpreter,
  server: ManagedServer,
): Promise<Verdict> {
  const blocks = readBlocks(root, 'README.md').filter(isForeign)
  const block = blocks.find((each) => each.language === language)
  if (block === undefined) return { kind: 'failed', why: `the README shows no ${language}` }
  const program = against(block, `${server.host}:${server.port}`)
  const options = { timeoutMs: 20_000, ...(cwd === undefined ? {} : { cwd }) }
  const { ok, output } = await runTool(file, [...args, program], options)
  if (ok && output.includes(`'zookeeper'`)) return { kind: 'ok' }
  return { kind: 'failed', why: `README.md:${block.line} said ${output.replaceAll('\n', ' | ')}` }
}

/** The programs before and after in a guide, each in a separate tree. */
async function printsTheSame(
  guide: string,
  { command: [file = '', ...args], cwd }: Interpreter,
  server: ManagedServer,
): Promise<Verdict> {
  const servers = `${server.host}:${server.port}`
  {
    await using client = await connect(servers)
    for (const chroot of ['/before', '/after']) await client.ensure(chroot)
  }
  const blocks = readBlocks(root, guide)
  const [before] = blocks.filter(isForeign)
  const [after] = blocks.filter(({ language }) => language === 'ts')
  if (before === undefined || after === undefined)
    return { kind: 'failed', why: `${guide} does not show two programs` }
  const options = { timeoutMs: 20_000, ...(cwd === undefined ? {} : { cwd }) }
  const theirs = await runTool(file, [...args, against(before, `${servers}/before`)], options)
  const ours = await runOurs(against(after, `${servers}/after`))
  if (theirs.ok && ours.ok && theirs.output !== '' && theirs.output === ours.output)
    return { kind: 'ok' }
  const printed = [theirs.output, ours.output].map((output) => output.replaceAll('\n', ' | '))
  return { kind: 'failed', why: `${guide} printed before: ${printed[0]}; after: ${printed[1]}` }
}

/** Inside the workspace, so that imports resolve as in a reader's program. */
async function runOurs(program: string): Promise<ToolResult> {
  const folder = mkdtempSync(join(import.meta.dirname, '.ported-'))
  try {
    const script = join(folder, 'program.ts')
    writeFileSync(script, program)
    const sources = ['--import', import.meta.resolve('tsx'), '--conditions=@zabra/source']
    return await runTool(process.execPath, [...sources, script], { timeoutMs: 20_000 })
  } finally {
    rmSync(folder, { recursive: true })
  }
}
