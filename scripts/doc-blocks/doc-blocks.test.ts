import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startServer } from '@zabra/server'
import { afterAll, expect, test, vi } from 'vitest'
import { against, readBlocks } from './doc-blocks.ts'

const here = dirname(fileURLToPath(import.meta.url))
const root = join(here, '..', '..')
/** In the workspace, so that imports are resolved as in a program of a reader. */
const folder = join(here, '.blocks')

const documents = [
  'README.md',
  'docs/client.md',
  'packages/client/README.md',
  'packages/recipes/README.md',
  ...listed('docs/recipes'),
].filter((document) => existsSync(join(root, document)))

function listed(directory: string): string[] {
  if (!existsSync(join(root, directory))) return []
  const names = readdirSync(join(root, directory)).filter((name) => name.endsWith('.md'))
  return names.map((name) => `${directory}/${name}`)
}

const blocks = documents.flatMap((document) => readBlocks(document, join(root, document)))
const fileOf = (index: number): string => join(folder, `block-${index}.ts`)

rmSync(folder, { recursive: true, force: true })
mkdirSync(folder)
blocks.forEach((block, index) => writeFileSync(fileOf(index), block.program))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

test('every block of the documents compiles', () => {
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
  const where = (_: string, index: string): string => {
    const { document, line } = blocks[Number(index)]!
    return `${document}:${line}`
  }
  expect(stdout.replaceAll(/[^\s]*block-(\d+)\.ts/g, where)).toBe('')
  expect(status).toBe(0)
})

test.each(blocks.map((block, index) => [`${block.document}:${block.line}`, block, index] as const))(
  'the block at %s runs',
  async (_, block, index) => {
    const silence = vi.spyOn(console, 'log').mockImplementation(() => {})
    const server = await startServer({ config: { extendedTypesEnabled: 'true' } })
    try {
      writeFileSync(fileOf(index), against(block, server.connectString))
      await import(fileOf(index))
    } finally {
      silence.mockRestore()
      await server.stop()
    }
  },
)
