import { readFileSync } from 'node:fs'
import { basename, dirname, resolve } from 'node:path'
import { CommandError } from '../framework/errors.ts'
import type { Io } from '../framework/io.ts'
import { readInput } from '../node/input.ts'
import { checkHead, fromFile, treeOf, type FileTree } from './tree-file.ts'
import type { TreeNode } from './tree.ts'

/** A tree from a file in JSON lines or YAML, or from a snapshot of a server; `-` is stdin. */
export async function readTreeFile(file: string, io: Io): Promise<FileTree> {
  if (/^snapshot\.[0-9a-f]{1,16}(\.gz|\.snappy)?$/i.test(basename(file))) {
    const { readSnapshotFile } = await import('./snapshot-file.ts')
    return readSnapshotFile(file)
  }
  const text = Buffer.from(await readInput(file, io)).toString()
  const where = file === '-' ? 'stdin' : file
  const folder = file === '-' ? '.' : dirname(file)
  const readBeside = (name: string): Uint8Array => readFileSync(resolve(folder, name))
  return /^\s*\{/.test(text)
    ? fromLines(text, where, readBeside)
    : fromYaml(text, where, readBeside)
}

type ReadBeside = (file: string) => Uint8Array

/** A head, then a node a line. */
function fromLines(text: string, where: string, readBeside: ReadBeside): FileTree {
  const lines = text.split('\n')
  let head
  const nodes: TreeNode[] = []
  for (const [index, line] of lines.entries()) {
    if (line.trim() === '') continue
    const at = `${where}:${index + 1}`
    const said = parseLine(line, at)
    if (head === undefined) {
      head = checkHead(said, at)
      continue
    }
    const { path, ...node } = said
    if (typeof path !== 'string')
      throw new CommandError(`${at}: a node has a path`, { code: 'file' })
    nodes.push(fromFile(path, node, { defaults: head.defaults, readBeside }, at))
  }
  head ??= checkHead(undefined, where)
  return { head, tree: treeOf(head, nodes, where) }
}

function parseLine(line: string, at: string): Record<string, unknown> {
  try {
    return JSON.parse(line) as Record<string, unknown>
  } catch (error) {
    throw new CommandError(`${at}: ${(error as Error).message}`, { code: 'file', cause: error })
  }
}

async function fromYaml(text: string, where: string, readBeside: ReadBeside): Promise<FileTree> {
  const { parseYaml } = await import('./yaml-file.ts')
  const said = parseYaml(text, where)
  const head = checkHead(said, where)
  const { nodes } = said as { nodes?: unknown }
  if (typeof nodes !== 'object' || nodes === null || Array.isArray(nodes))
    throw new CommandError(`${where}: \`nodes\` is missing: paths with their nodes`, {
      code: 'file',
    })
  const list = Object.entries(nodes).map(([path, node]) =>
    fromFile(path, node, { defaults: head.defaults, readBeside }, `${where}: ${path}`),
  )
  return { head, tree: treeOf(head, list, where) }
}
