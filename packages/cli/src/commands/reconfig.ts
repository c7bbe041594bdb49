import { readFile } from 'node:fs/promises'
import { noData } from '@zabra/client'
import { defineCommand } from '../framework/command.ts'
import { UsageError } from '../framework/errors.ts'
import { hex } from '../node/stat.ts'
import { parseMembers } from '../ensemble/members.ts'

export const command = defineCommand({
  options: {
    add: {
      type: 'text',
      many: true,
      value: 'server.ID=SPEC',
      help: 'let a server join, or change its ports or role',
    },
    remove: { type: 'text', many: true, value: 'ID', help: 'let a member leave' },
    file: {
      type: 'text',
      value: 'FILE',
      kind: 'file',
      help: 'the list of all members, one server.N= per line',
    },
    ifVersion: {
      type: 'text',
      value: 'VERSION',
      help: 'only if the configuration has this version, in hexadecimal',
    },
  },
  details: `Changes the members of the ensemble while it serves. Needs reconfigEnabled=true on the servers, and an identity that
may write /zookeeper/config (a super user, unless its ACL was changed).`,
  examples: [
    [`zabra reconfig --add 'server.4=10.0.0.4:2888:3888;2181'`, 'server 4 joins'],
    ['zabra reconfig --remove 3', 'server 3 leaves'],
    ['zabra reconfig --file members.txt', 'replaces the members by those of the file'],
  ],
  async run({ options, out, connect }) {
    const { add = [], remove = [], file, ifVersion } = options
    const isIncremental = add.length > 0 || remove.length > 0
    if (isIncremental === (file !== undefined))
      throw new UsageError('say what to change: --add and --remove, or --file')
    const client = await connect()
    const { data, stat } = await client.reconfig({
      ...(file === undefined
        ? { joining: add, leaving: remove }
        : { newMembers: membersIn(await readFile(file, 'utf8'), file) }),
      ...(ifVersion === undefined ? {} : { ifVersion: versionOf(ifVersion) }),
    })
    const text = data === noData ? '' : Buffer.from(data).toString()
    const members = parseMembers(text)
    if (out.json)
      return out.data({
        version: /^version=(.*)$/m.exec(text)?.[1] ?? null,
        mzxid: hex(stat.mzxid),
        members: members.map(({ id, role, spec }) => ({ id, role, spec })),
      })
    out.table(
      ['ID', 'ROLE', 'SPEC'],
      members.map(({ id, role, spec }) => [id, role, spec]),
    )
  },
})

/** The `server.N=` lines, and the groups and weights of hierarchical quorums. */
function membersIn(text: string, file: string): string[] {
  const lines = text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => /^(server|group|weight)\.\d+=/.test(line))
  if (lines.length === 0) throw new UsageError(`${file} has no line server.ID=...`)
  return lines
}

function versionOf(text: string): bigint {
  const digits = text.replace(/^0x/i, '')
  if (!/^[0-9a-f]{1,16}$/i.test(digits))
    throw new UsageError(`--if-version is a hexadecimal number, not '${text}'`)
  return BigInt(`0x${digits}`)
}
