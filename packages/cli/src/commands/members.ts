import { defineCommand } from '../framework/command.ts'
import { CommandError } from '../framework/errors.ts'
import { addressText } from '../ensemble/address.ts'
import { parseMembers, readMembers } from '../ensemble/members.ts'

export const command = defineCommand({
  options: { raw: { type: 'flag', help: 'print the configuration as the server stores it' } },
  examples: [
    ['zabra members', 'the members of the ensemble by its configuration'],
    ['zabra members --raw > members.txt', 'as input for `zabra reconfig --file`'],
  ],
  async run({ options, out, settings, signal }) {
    const progress = out.progress('asking the servers')
    const { version, text } = await readMembers(settings(), signal)
    progress.end()
    const members = parseMembers(text)
    if (version === undefined)
      throw new CommandError('this server is not part of an ensemble', {
        code: 'standalone',
        hint: '`zabra status` shows a single server',
      })
    if (out.json)
      return out.data({
        version,
        members: members.map(({ id, role, client, spec }) => ({
          id,
          role,
          client: client === undefined ? null : addressText(client),
          spec,
        })),
      })
    if (options.raw === true) return out.write(text.endsWith('\n') ? text : `${text}\n`)
    out.table(
      ['ID', 'ROLE', 'CLIENT', 'SPEC'],
      members.map(({ id, role, client, spec }) => [id, role, client && addressText(client), spec]),
    )
    out.note(`version ${version}`)
  },
})
