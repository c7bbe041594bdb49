import { defineCommand } from '../framework/command.ts'
import { readInput } from '../node/input.ts'
import { parseTransaction } from '../trees/transaction-file.ts'
import { counted } from '../output/units.ts'

export const command = defineCommand({
  arguments: { file: { kind: 'file', help: '- is stdin' } },
  options: { dryRun: { type: 'flag', short: 'n', help: 'only check the file' } },
  details: `Carries out all operations of a file in one transaction, or none of them. One operation per line; # begins a
comment:

  check PATH [VERSION]
  create [-s] [-c] [-t MS] PATH [DATA [ACL]]
  set [-v VERSION] PATH DATA
  delete [-v VERSION] PATH

Quote words with blanks, as in \`zabra shell\`. There is no -e, because an ephemeral node would disappear when the
command ends.`,
  examples: [
    ['zabra txn change.txt', 'all operations or none'],
    ["printf 'check /lock 3\\nset /config new\\n' | zabra txn -", 'a conditional write'],
  ],
  async run({ args, options, out, io, connect }) {
    const operations = parseTransaction(
      Buffer.from(await readInput(args.file, io)).toString(),
      args.file,
    )
    if (options.dryRun === true)
      return out.note(`${counted(operations.length, 'operation')}, nothing was done`)
    const client = await connect()
    const transaction = client.transaction()
    for (const operation of operations) operation.add(transaction)
    const results = (await transaction.commit()) as readonly (
      | { readonly path?: string }
      | undefined
    )[]
    const done = operations.map(({ type, path }, index) => ({
      type,
      path: results[index]?.path ?? path,
    }))
    if (out.json) await out.data({ operations: done })
    else for (const { type, path } of done) out.line(`${type} ${path}`)
  },
})
