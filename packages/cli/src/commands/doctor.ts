import { defineCommand } from '../framework/command.ts'
import { exitCodes } from '../framework/exit-codes.ts'
import {
  examineCertificates,
  examineClock,
  examineMembers,
  examinePorts,
} from '../doctor/ensemble.ts'
import { examineDisk, examineMachine } from '../doctor/machine.ts'
import { judge, type Finding } from '../ensemble/judge.ts'
import { survey } from '../ensemble/survey.ts'
import { printFindings } from '../output/findings.ts'

export const command = defineCommand({
  options: {
    dataDir: {
      type: 'text',
      value: 'DIRECTORY',
      kind: 'file',
      many: true,
      help: 'also examine the disk of this data directory',
    },
    ports: { type: 'flag', help: 'also try the quorum and election ports of all members' },
    write: { type: 'flag', help: 'also create an ephemeral node, to compare clocks' },
    local: { type: 'flag', help: 'examine only this machine, no servers' },
  },
  details: `Examines this machine (limits, memory, load, disk) and the ensemble (leader, quorum, lag, configuration, releases,
certificates), with advice for each problem. Run it on the machine of a server with --data-dir: the disk test writes
50 small blocks and removes them. Exit code 1 means that there is a problem.`,
  examples: [
    ['zabra doctor --data-dir /var/lib/zookeeper', 'on the machine of a server'],
    ['zabra doctor --ports --write', 'everything about the ensemble'],
  ],
  async run({ options, out, settings, signal, connect }) {
    const findings: Finding[] = [...examineMachine()]
    for (const directory of options.dataDir ?? []) findings.push(...examineDisk(directory))
    if (options.local !== true) {
      const connection = settings()
      const asking = out.progress('asking the servers')
      const found = await survey(connection, signal)
      asking.end()
      findings.push(...judge(found, { lagMax: 1000, syncMsMax: 100, outstandingMax: 100 }))
      findings.push(...(await examineMembers(found, connection, signal)))
      findings.push(...(await examineCertificates(found, connection)))
      if (options.ports === true)
        findings.push(...(await examinePorts(found, connection.timeoutMs)))
      if (options.write === true) findings.push(await examineClock(await connect()))
    }
    const isWell = findings.every(({ verdict }) => verdict !== 'problem')
    if (out.json) await out.data({ ok: isWell, findings })
    else printFindings(findings, out)
    return isWell ? exitCodes.ok : exitCodes.no
  },
})
