import { defineCommand } from '../framework/command.ts'
import { CommandError } from '../framework/errors.ts'
import { exitCodes } from '../framework/exit-codes.ts'
import { adminBase, askAdmin } from '../ensemble/admin.ts'
import { askOptions } from '../ensemble/ask-options.ts'
import { survey } from '../ensemble/survey.ts'

export const command = defineCommand({
  options: {
    admin: {
      type: 'text',
      value: 'URL',
      help: 'admin port of the leader (default: asked of the leader)',
    },
  },
  details: `The leader commits its proposals and lets an up-to-date follower lead. Clients reconnect within some tens of
milliseconds and lose nothing. Use it before you stop the leader's machine. It works only with zabra servers, and
needs a digest identity with every permission on /.`,
  examples: [
    ['zabra hand-over --auth digest:ops:secret', 'another member leads'],
    ['zabra hand-over --admin http://10.0.0.1:8081 --auth @ops.txt', 'with another admin port'],
  ],
  async run({ options, out, settings, signal }) {
    const connection = settings()
    const base = options.admin ?? (await leaderAdmin())
    const answer = await askAdmin({
      base,
      command: 'hand_over',
      method: 'POST',
      settings: connection,
      signal,
    })
    if (out.json) await out.data({ leader: answer['leader'] ?? null })
    else out.line(`server ${String(answer['leader'])} leads`)

    async function leaderAdmin(): Promise<string> {
      const { answers } = await survey(connection, signal)
      const leader = answers.find(({ status }) => status?.mode === 'leader')
      if (leader?.member.client === undefined)
        throw new CommandError('no member leads', {
          code: 'noLeader',
          exitCode: exitCodes.unavailable,
          hint: '`zabra status` shows the members',
        })
      return adminBase(leader.member.client, await askOptions(connection, signal))
    }
  },
})
