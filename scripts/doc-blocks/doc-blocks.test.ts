import { execFile, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { startServer } from '@zabra/server'
import { afterAll, expect, test, vi } from 'vitest'
import { against, documentsOf, isForeign, isTest, readBlocks, type DocBlock } from './doc-blocks.ts'

const here = dirname(fileURLToPath(import.meta.url))
const root = join(here, '..', '..')
/** Inside the workspace, so that imports resolve as in a reader's program. */
const folder = join(here, '.blocks')

const documents = documentsOf(root)
const blocks = documents.flatMap((document) => readBlocks(root, document))
const placeOf = ({ document, line }: DocBlock): string => `${document}:${line}`
const fileOf = (index: number): string =>
  join(folder, `block-${index}.${blocks[index]!.language === 'ts' ? 'ts' : 'mjs'}`)

rmSync(folder, { recursive: true, force: true })
mkdirSync(folder)
blocks.forEach((block, index) => {
  if (block.language === 'ts') writeFileSync(fileOf(index), block.program)
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const foreign = blocks.filter(isForeign)
for (const block of foreign)
  console.log(
    `NOT RUN here: ${placeOf(block)}, of another client; npm run test:clients runs those of ZooKeeper`,
  )

test('no block hides in another name of its language', () => {
  const others =
    /^ *(?:```|~~~) ?(?:typescript|javascript|[mc][jt]s|[jt]sx|py)\b|^ +```(?:ts|js)\b/im
  const hiding = documents.filter((document) =>
    others.test(readFileSync(join(root, document), 'utf8')),
  )
  expect(hiding).toEqual([])
})

test('every block in TypeScript compiles', () => {
  const options = {
    extends: '../../../tsconfig.base.json',
    compilerOptions: {
      composite: false,
      declaration: false,
      declarationMap: false,
      noEmit: true,
      types: ['node'],
      customConditions: ['@zabra/source'],
    },
    include: ['*.ts'],
  }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(options))
  const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
  const { stdout, status } = spawnSync(process.execPath, [tsc, '-p', folder], { encoding: 'utf8' })
  const where = (_: string, index: string): string => placeOf(blocks[Number(index)]!)
  expect(stdout.replaceAll(/[^\s]*block-(\d+)\.ts/g, where)).toBe('')
  expect(status).toBe(0)
})

const own = blocks
  .map((block, index) => [placeOf(block), block, index] as const)
  .filter(([, block]) => !isForeign(block))

test.each(own)(
  'the block at %s runs',
  async (_, block, index) => {
    const server = await startServer({ config: { extendedTypesEnabled: 'true' } })
    try {
      writeFileSync(fileOf(index), against(block, server.connectString))
      if (isTest(block)) await runTests(fileOf(index))
      else if (block.language === 'ts') await runHere(fileOf(index))
      else await runAlone(fileOf(index))
    } finally {
      await server.stop()
    }
  },
  60_000,
)

async function runHere(file: string): Promise<void> {
  const silence = vi.spyOn(console, 'log').mockImplementation(() => {})
  try {
    await import(file)
  } finally {
    silence.mockRestore()
  }
}

/** Runs it as it is, in a folder where it may leave files. */
async function runAlone(file: string): Promise<void> {
  const cwd = mkdtempSync(join(tmpdir(), 'zabra-block-'))
  const sources = ['--import', import.meta.resolve('tsx'), '--conditions=@zabra/source']
  try {
    await promisify(execFile)(process.execPath, [...sources, file], { cwd, timeout: 50_000 })
  } finally {
    rmSync(cwd, { recursive: true })
  }
}

/** Runs it by vitest, which fails if there is no test. */
async function runTests(file: string): Promise<void> {
  const conditions = { conditions: ['@zabra/source'] }
  const config = { resolve: conditions, ssr: { resolve: conditions }, test: { include: [file] } }
  const configFile = join(folder, 'vitest.config.mjs')
  writeFileSync(configFile, `export default ${JSON.stringify(config)}\n`)
  const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs')
  const args = [vitest, 'run', '--root', folder, '--config', configFile]
  await promisify(execFile)(process.execPath, args, { timeout: 50_000 })
}
