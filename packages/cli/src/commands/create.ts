import { defineCommand } from '../framework/command.ts'
import { CommandError, UsageError } from '../framework/errors.ts'
import { exitCodes } from '../framework/exit-codes.ts'
import { parseAclList } from '../node/acl-text.ts'
import { givenData } from '../node/input.ts'
import { cleanPath } from '../node/paths.ts'
import { statJson } from '../node/stat.ts'
import { isRefusal, noData } from '@zabra/client'

export const command = defineCommand({
  arguments: {
    path: { kind: 'path' },
    data: { kind: 'text', optional: true, help: '- reads stdin; without it the node has no data' },
  },
  options: {
    sequential: { type: 'flag', short: 's', help: 'append a number that only grows to the name' },
    ephemeral: {
      type: 'flag',
      short: 'e',
      help: 'delete the node with the session of this command, which runs until Ctrl-C',
    },
    container: { type: 'flag', short: 'c', help: 'delete the node some time after its last child' },
    ttl: {
      type: 'duration',
      short: 't',
      value: 'TIME',
      help: 'delete the node after this time without change and children',
    },
    parents: { type: 'flag', short: 'p', help: 'also create missing parents' },
    acl: {
      type: 'text',
      value: 'ACL',
      help: 'SCHEME:ID:PERMISSIONS, or several separated by commas',
    },
    file: { type: 'text', short: 'f', value: 'FILE', kind: 'file', help: 'data from a file' },
  },
  details: 'Prints the path of the node.',
  examples: [
    ['zabra create -p /app/config "some data"', 'a node with its parents'],
    ['zabra create -s /jobs/job- job-data', 'prints, for example, /jobs/job-0000000017'],
    ['zabra create -e /alive', 'exists while this command runs'],
    ['zabra create --ttl 1h /cache/page --file page.html', 'deleted an hour after the last change'],
  ],
  async run({ args, options, out, io, signal, connect }) {
    const { sequential, ephemeral, container, ttl, parents, acl, file } = options
    const kinds = [ephemeral, container, ttl].filter((one) => one !== undefined)
    if (kinds.length > 1) throw new UsageError('--ephemeral, --container or --ttl: one of them')
    const path = sequential === true ? args.path : cleanPath(args.path)
    const data = await givenData(args.data, file, io)
    const client = await connect()
    const creating = client.create(path, data ?? noData, {
      sequential,
      ephemeral,
      container,
      ttlMs: ttl,
      parents: parents ?? false,
      acl: acl === undefined ? undefined : parseAclList(acl),
    })
    const made = await creating.catch((error: unknown) => {
      if (!isRefusal(error, 'noNode') || parents === true) throw error
      const parent = path.slice(0, path.lastIndexOf('/'))
      throw new CommandError(`cannot create ${path}: ${parent} does not exist`, {
        code: 'noNode',
        exitCode: exitCodes.notFound,
        hint: '--parents (-p) also creates missing parents',
        cause: error,
      })
    })
    if (out.json) await out.data({ path: made.path, stat: statJson(made.stat) })
    else out.line(made.path)
    if (ephemeral !== true) return
    out.note('the node stays until Ctrl-C')
    await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
  },
})
