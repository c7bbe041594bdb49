import { defineCommand } from '../framework/command.ts'
import { UsageError } from '../framework/errors.ts'
import { exitCodes } from '../framework/exit-codes.ts'
import { globPattern, regexOf } from '../node/patterns.ts'
import { cleanPath, nameOf } from '../node/paths.ts'
import { hex, isEphemeral, statJson } from '../node/stat.ts'
import { walk, type WalkedNode } from '../node/walk.ts'

const kinds = ['persistent', 'ephemeral'] as const

export const command = defineCommand({
  arguments: { path: { kind: 'path', optional: true, help: '/ by default' } },
  options: {
    name: { type: 'text', value: 'GLOB', help: 'the name matches, as in `lock-*`' },
    regex: { type: 'text', value: 'REGEX', help: 'the path matches a regular expression' },
    kind: {
      type: 'text',
      value: 'KIND',
      choices: kinds,
      help: 'ephemeral, or persistent for all others',
    },
    minSize: { type: 'size', value: 'SIZE', help: 'minimum size of the data' },
    maxSize: { type: 'size', value: 'SIZE', help: 'maximum size of the data' },
    minChildren: { type: 'integer', value: 'N', help: 'minimum number of children' },
    leaf: { type: 'flag', help: 'without children' },
    newerThan: { type: 'duration', value: 'TIME', help: 'changed within this time' },
    olderThan: { type: 'duration', value: 'TIME', help: 'not changed within this time' },
    owner: { type: 'text', value: 'SESSION', help: 'ephemeral nodes of a session, as 0x1000a2b' },
    depth: { type: 'integer', short: 'd', value: 'N', help: 'maximum number of levels' },
  },
  details:
    'Prints the paths of nodes that meet all conditions. Exit code 1 means that there are none.',
  examples: [
    ["zabra find / --name 'lock-*' --kind ephemeral", 'locks that are held or waited for'],
    ['zabra find /app --older-than 30d --leaf', 'nodes unchanged for a month'],
    ['zabra find / --min-size 100k', 'large data'],
  ],
  async run({ args, options, out, signal, connect }) {
    const top = cleanPath(args.path ?? '/')
    const {
      kind,
      minSize = 0,
      maxSize = Infinity,
      minChildren = 0,
      leaf,
      newerThan,
      olderThan,
    } = options
    const name = options.name === undefined ? undefined : globPattern(options.name)
    const regex = options.regex === undefined ? undefined : regexOf(options.regex, '')
    const owner = options.owner === undefined ? undefined : sessionOf(options.owner)
    const nowMs = Date.now()
    const matches = ({ path, stat, children }: WalkedNode): boolean => {
      if (name !== undefined && !name.test(nameOf(path))) return false
      if (regex !== undefined && !regex.test(path)) return false
      if (leaf === true && children.length > 0) return false
      if (children.length < minChildren) return false
      if (stat === undefined) return kind === undefined && owner === undefined && minSize === 0
      const ageMs = nowMs - Number(stat.mtime)
      return (
        (kind === undefined || isEphemeral(stat) === (kind === 'ephemeral')) &&
        (owner === undefined || hex(stat.ephemeralOwner) === owner) &&
        stat.dataLength >= minSize &&
        stat.dataLength <= maxSize &&
        (newerThan === undefined || ageMs <= newerThan) &&
        (olderThan === undefined || ageMs > olderThan)
      )
    }
    const client = await connect()
    const progress = out.progress('reading')
    const found: object[] = []
    let count = 0
    for await (const node of walk(client, top, { signal, depthMax: options.depth })) {
      progress.add()
      if (!matches(node)) continue
      count++
      await out.drained()
      if (out.json)
        found.push({ path: node.path, stat: node.stat === undefined ? null : statJson(node.stat) })
      else out.line(node.path)
    }
    progress.end()
    if (out.json) await out.data({ path: top, nodes: found })
    return count > 0 ? exitCodes.ok : exitCodes.no
  },
})

function sessionOf(text: string): string {
  if (!/^(0x)?[0-9a-f]{1,16}$/i.test(text))
    throw new UsageError(`'${text}' is no session id`, 'sessions have ids as 0x1000a2b0001')
  return hex(BigInt(text.startsWith('0x') ? text : `0x${text}`))
}
