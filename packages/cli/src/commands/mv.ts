import { noData } from '@zabra/client'
import { defineCommand } from '../framework/command.ts'
import { CommandError, UsageError } from '../framework/errors.ts'
import { exitCodes } from '../framework/exit-codes.ts'
import { cleanPath, isWithin, parentOf } from '../node/paths.ts'
import { counted, sizeText } from '../output/units.ts'
import { pathBelow, readTree } from '../trees/tree.ts'

/** The maximum size of one transaction on servers with the usual limits. */
const bytesMax = 900_000

export const command = defineCommand({
  arguments: { from: { kind: 'path' }, to: { kind: 'path' } },
  options: { parents: { type: 'flag', short: 'p', help: 'create missing parents of the target' } },
  details: `Moves a node and its subtree in one transaction: no client ever sees it twice or not at all, and nothing happens if
another client changes it in the meantime. A subtree that is too large for one transaction is refused; \`zabra cp -R\` and \`zabra deleteall\`
do it in steps.`,
  examples: [['zabra mv /app/old /app/new', 'with everything below']],
  async run({ args, options, out, signal, connect }) {
    const [from, to] = [cleanPath(args.from), cleanPath(args.to)]
    if (from === '/') throw new UsageError('the root cannot be moved')
    if (isWithin(to, from))
      throw new UsageError(`${to} is inside ${from}`, 'a node cannot be moved into itself')
    const client = await connect()
    const progress = out.progress('reading')
    const tree = await readTree(client, from, { signal, onNode: () => progress.add() })
    progress.end()
    const nodes = [...tree.values()]
    const ephemeral = nodes.find(({ kind }) => kind === 'ephemeral')
    if (ephemeral !== undefined)
      throw new CommandError(
        `${pathBelow(from, ephemeral.path)} is ephemeral: it belongs to a session and cannot be moved`,
        {
          code: 'ephemeral',
          exitCode: exitCodes.conflict,
        },
      )
    const bytes = nodes.reduce(
      (sum, { path, data }) => sum + 2 * path.length + from.length + to.length + data!.length + 128,
      0,
    )
    if (bytes > bytesMax)
      throw new CommandError(
        `${from} is too large for one transaction (${counted(nodes.length, 'node')}, ${sizeText(bytes)})`,
        {
          code: 'tooLarge',
          hint: `\`zabra cp -R ${from} ${to}\`, then \`zabra deleteall ${from}\`; others may see both meanwhile`,
        },
      )
    if (options.parents === true) await client.ensure(parentOf(to))
    const transaction = client.transaction()
    for (const { path, data = noData, acl, kind, ttlMs } of nodes) {
      const container = kind === 'container'
      const ttl = kind === 'ttl' && ttlMs !== undefined ? { ttlMs } : {}
      transaction.create(pathBelow(to, path), data, { acl, container, ...ttl })
    }
    for (const { path, version } of nodes.toReversed())
      transaction.delete(pathBelow(from, path), { ifVersion: version })
    await transaction.commit()
    if (out.json) await out.data({ from, to, nodes: nodes.length })
    else out.note(`moved ${counted(nodes.length, 'node')}`)
  },
})
