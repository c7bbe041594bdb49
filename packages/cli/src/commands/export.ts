import { open, rename, rm, type FileHandle } from 'node:fs/promises'
import { acl as acls } from '@zabra/client'
import { defineCommand } from '../framework/command.ts'
import { aclTexts } from '../node/acl-text.ts'
import { cleanPath, isWithin } from '../node/paths.ts'
import { counted } from '../output/units.ts'
import { toFile, type FileHead, type FileNode } from '../trees/tree-file.ts'
import { pathBelow, readNodes, type TreeNode } from '../trees/tree.ts'
import { readTreeFile } from '../trees/read-file.ts'
import { CommandError } from '../framework/errors.ts'
import { exitCodes } from '../framework/exit-codes.ts'
import type { Io } from '../framework/io.ts'

export const command = defineCommand({
  arguments: { path: { kind: 'path', optional: true, help: '/ by default' } },
  options: {
    output: {
      type: 'text',
      short: 'o',
      value: 'FILE',
      kind: 'file',
      help: 'write to this file instead of stdout',
    },
    format: {
      type: 'text',
      value: 'FORMAT',
      choices: ['jsonl', 'yaml'],
      help: 'jsonl or yaml; by default from the file name, else jsonl',
    },
    snapshot: {
      type: 'text',
      value: 'FILE',
      kind: 'file',
      help: 'read a snapshot file instead of a running server',
    },
    skipEphemerals: { type: 'flag', help: 'skip ephemeral nodes' },
  },
  details: `Writes a node and its subtree: data, ACLs, kinds, TTLs, and the counters of sequential children, without /zookeeper.
A running server does not tell its clients which nodes are containers or have a TTL; a snapshot of zabra's or
Apache's server does (--snapshot). The nodes of a running server are read one after another while others may write,
so they do not all show the same moment. Ephemeral nodes are written with their kind; an import skips them, because
they belong to sessions.`,
  examples: [
    ['zabra export /app > app.jsonl', 'JSON lines, for any size'],
    ['zabra export /app -o app.yaml', 'YAML, for reading, editing and `zabra plan`'],
    ['zabra export /app --snapshot version-2/snapshot.1c3', 'without a server, with TTLs'],
  ],
  async run({ args, options, out, io, signal, connect }) {
    const top = cleanPath(args.path ?? '/')
    const { output } = options
    const isYaml =
      options.format === 'yaml' || (options.format === undefined && /\.ya?ml$/.test(output ?? ''))
    const yaml = isYaml ? await import('../trees/yaml-file.ts') : undefined
    const head: FileHead = {
      zabra: 'tree',
      version: 1,
      top,
      defaults: { acl: aclTexts(acls.open) },
    }
    const headText = yaml === undefined ? `${JSON.stringify(head)}\n` : yaml.yamlHead(head)
    const textOf = (path: string, node: FileNode): string =>
      yaml === undefined ? `${JSON.stringify({ path, ...node })}\n` : yaml.yamlNode(path, node)
    const progress = out.progress('exporting')
    // Beside its place, so that a failed export does not look like a whole one.
    const draft = output === undefined ? undefined : `${output}.part`
    const file = draft === undefined ? undefined : await DraftFile.open(draft)
    let count = 0
    try {
      const write = async (text: string): Promise<void> => {
        if (file !== undefined) return file.write(text)
        out.write(text)
        await out.drained()
      }
      let isBegun = false
      const nodes =
        options.snapshot === undefined
          ? readNodes(await connect(), top, { signal, onNode: () => progress.add() })
          : nodesOfSnapshot(options.snapshot, top, io)
      for await (const node of nodes) {
        if (!isBegun) await write(headText)
        isBegun = true
        if (options.skipEphemerals === true && node.kind === 'ephemeral') continue
        count++
        await write(textOf(pathBelow(top, node.path), toFile(node, acls.open)))
      }
      if (file !== undefined) {
        await file.finish()
        await rename(draft!, output!)
      }
    } catch (error) {
      await file?.close()
      if (draft !== undefined) await rm(draft, { force: true })
      throw error
    }
    progress.end()
    if (output !== undefined && out.json) await out.data({ path: top, file: output, nodes: count })
    else out.note(`exported ${counted(count, 'node')}`)
  },
})

const writeCharacters = 64 * 1024

/** A file that is written in large parts. Errors reject the call that meets them. */
class DraftFile {
  private readonly handle: FileHandle
  private pending = ''

  static async open(path: string): Promise<DraftFile> {
    return new DraftFile(await open(path, 'w'))
  }

  private constructor(handle: FileHandle) {
    this.handle = handle
  }

  async write(text: string): Promise<void> {
    this.pending += text
    if (this.pending.length >= writeCharacters) await this.flush()
  }

  /** Writes the rest, and closes the file once the disk has it. */
  async finish(): Promise<void> {
    await this.flush()
    await this.handle.datasync()
    await this.handle.close()
  }

  async close(): Promise<void> {
    await this.handle.close().catch(() => {})
  }

  private async flush(): Promise<void> {
    const text = this.pending
    this.pending = ''
    await this.handle.appendFile(text)
  }
}

/** The part of a snapshot from `top` on. */
async function* nodesOfSnapshot(
  file: string,
  top: string,
  io: Io,
): AsyncGenerator<TreeNode, void, undefined> {
  const { tree } = await readTreeFile(file, io)
  if (!tree.has(top))
    throw new CommandError(`${file} has no ${top}`, {
      code: 'noNode',
      exitCode: exitCodes.notFound,
    })
  for (const node of tree.values()) {
    if (!isWithin(node.path, top)) continue
    yield { ...node, path: top === '/' ? node.path : node.path.slice(top.length) || '/' }
  }
}
