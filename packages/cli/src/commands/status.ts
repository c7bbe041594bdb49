import { defineCommand } from '../framework/command.ts'
import { exitCodes } from '../framework/exit-codes.ts'
import { hex } from '../node/stat.ts'
import { roundMs } from '../output/table.ts'
import { addressText } from '../ensemble/address.ts'
import { lagBehind, partsOf, releaseText, type Answered } from '../ensemble/server-status.ts'
import { leads, survey } from '../ensemble/survey.ts'

export const command = defineCommand({
  details: `Asks every member of the ensemble for its state. The members come from the configuration of the ensemble or, if
there is none, from the connection string. LAG is the number of transactions that a member is behind the newest.
SYNC is the average time that its disk takes to make a batch durable, if the member reports it; LATENCY the average time of a request. Exit code 1
means that a member does not answer, or that none leads.`,
  examples: [
    ['zabra status', 'every member with its role, zxid, lag and clients'],
    ['zabra status --json | jq .members[].zxid', 'the same for programs'],
  ],
  async run({ out, settings, signal }) {
    const asking = out.progress('asking the servers')
    const { answers, version, newest, leaders, quorum, voters, votersUp, memberProblem, advice } =
      await survey(settings(), signal)
    asking.end()
    const isWhole = leaders === 1 && answers.every(({ status }) => status !== undefined)
    if (out.json) {
      await out.data({
        ok: isWhole,
        configVersion: version ?? null,
        voters,
        votersUp,
        quorum,
        members: answers.map((answer) => memberJson(answer, newest)),
      })
      return isWhole ? exitCodes.ok : exitCodes.no
    }
    if (memberProblem !== undefined) out.warn(`the members are not known: ${memberProblem}`)
    const { red, green } = out.style
    out.table(
      [
        'ID',
        'SERVER',
        'ROLE',
        'VERSION',
        'EPOCH',
        'ZXID',
        'LAG',
        'SYNC(ms)',
        'LATENCY(ms)',
        'CLIENTS',
        'NODES',
      ],
      answers.map(({ member, status, problem }) => {
        const server = member.client === undefined ? undefined : addressText(member.client)
        if (status === undefined) return [member.id, server, red(`down: ${problem}`)]
        const { mode, zxid, metrics, latencyMs, connections, nodes } = status
        return [
          member.id,
          server,
          leads(mode) ? green(mode) : mode,
          releaseText(status),
          partsOf(zxid).epoch,
          hex(zxid),
          lagBehind(newest, zxid),
          roundMs(metrics?.get('avg_fsynctime')),
          roundMs(latencyMs.average),
          connections,
          nodes,
        ]
      }),
    )
    if (advice !== undefined) out.note(`  ${advice}`)
    if (voters > 1) {
      const spare = votersUp - quorum
      const meaning =
        spare < 0
          ? red(`no quorum: ${votersUp} of ${voters} voters answer, ${quorum} are needed`)
          : `${votersUp} of ${voters} voters answer; ${spare} more may fail`
      out.note(meaning)
    }
    if (leaders > 1) out.warn('more than one member says that it leads; ask again in a moment')
    return isWhole ? exitCodes.ok : exitCodes.no
  },
})

function memberJson({ member, status, problem }: Answered, newest: bigint): object {
  return {
    id: member.id ?? null,
    server: member.client === undefined ? null : addressText(member.client),
    configuredRole: member.role ?? null,
    problem: problem ?? null,
    ...(status && {
      mode: status.mode,
      version: status.version,
      zabraVersion: status.zabraVersion ?? null,
      zxid: hex(status.zxid),
      ...partsOf(status.zxid),
      lag: lagBehind(newest, status.zxid) ?? null,
      connections: status.connections,
      nodes: status.nodes,
      outstanding: status.outstanding,
      latencyMs: status.latencyMs,
      syncMs: status.metrics?.get('avg_fsynctime') ?? null,
    }),
  }
}
