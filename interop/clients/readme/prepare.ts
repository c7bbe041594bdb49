import { join } from 'node:path'
import {
  against,
  isForeign,
  readBlocks,
  type Language,
} from '../../../scripts/doc-blocks/doc-blocks.ts'
import type { ManagedServer } from '../../src/servers.ts'
import { runTool } from '../../src/tools.ts'
import { readme } from '../catalogue.ts'
import type { Client, UnpreparedClient, Verdict } from '../client.ts'
import { kazooVersion, pythonWithKazoo } from '../kazoo/prepare.ts'
import { npmClientVersions, npmModules } from '../node/prepare.ts'

const root = join(import.meta.dirname, '..', '..', '..')

/** How to run a text as a program, from a folder in which its client is found. */
interface Interpreter {
  readonly ok: true
  readonly version: string
  readonly command: readonly string[]
  readonly cwd?: string
}

/** What the README shows in Python, as it stands there. */
export const readmePython = readmeClient('python', async () => {
  const found = await pythonWithKazoo()
  if (!found.ok) return found
  return { ok: true, version: `kazoo ${kazooVersion}`, command: [found.program, '-c'] }
})

/** What the README shows for Node with a client from npm, as it stands there. */
export const readmeNode = readmeClient('js', async () => {
  const name = 'node-zookeeper-client'
  const found = await npmModules(name)
  if (!found.ok) return found
  const version = `${name} ${npmClientVersions[name]}`
  return { ok: true, version, command: [process.execPath, '-e'], cwd: found.home }
})

function readmeClient(
  language: Language,
  find: () => Promise<Interpreter | UnpreparedClient>,
): Client {
  return {
    name: `readme-${language}`,
    checks: readme,
    async prepare() {
      const found = await find()
      if (!found.ok) return found
      const run = async (server: ManagedServer) =>
        new Map([['lists', await listsNodes(language, found, server)]])
      return { ok: true, version: found.version, run }
    },
  }
}

/** The root of every server has one node, and it must be said. */
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
