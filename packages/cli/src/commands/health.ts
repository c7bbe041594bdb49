import { defineCommand } from '../framework/command.ts'
import type { Client } from '@zabra/client'
import { exitCodes } from '../framework/exit-codes.ts'
import { judge, type Finding } from '../ensemble/judge.ts'
import { survey } from '../ensemble/survey.ts'
import { printFindings } from '../output/findings.ts'

export const command = defineCommand({
  options: {
    maxLag: { type: 'integer', help: 'transactions a member may be behind (1000)' },
    maxSync: { type: 'duration', help: 'time a sync of the log may take on average (100ms)' },
    maxOutstanding: { type: 'integer', help: 'requests that may wait on a member (100)' },
    write: { type: 'flag', help: 'also create an ephemeral node, to prove that writes commit' },
  },
  details: `Checks the ensemble: one leader, a quorum, no member far behind, disks that keep up, matching digests. Exit code 1
means that there is a problem. Warnings alone give exit code 0.`,
  examples: [
    ['zabra health', 'all checks, with advice'],
    ['zabra health --write --quiet || page-someone', 'in a script; a write must also commit'],
  ],
  async run({ options, out, settings, signal, connect }) {
    const asking = out.progress('asking the servers')
    const found = await survey(settings(), signal)
    asking.end()
    const findings = judge(found, {
      lagMax: options.maxLag ?? 1000,
      syncMsMax: options.maxSync ?? 100,
      outstandingMax: options.maxOutstanding ?? 100,
    })
    if (options.write === true) findings.push(await tryWrite(connect))
    const isWell = findings.every(({ verdict }) => verdict !== 'problem')
    if (out.json) await out.data({ ok: isWell, findings })
    else {
      const shown = out.quiet ? findings.filter(({ verdict }) => verdict !== 'ok') : findings
      printFindings(shown, out)
    }
    return isWell ? exitCodes.ok : exitCodes.no
  },
})

async function tryWrite(connect: () => Promise<Client>): Promise<Finding> {
  const begun = performance.now()
  try {
    const client = await connect()
    const options = { ephemeral: true, sequential: true }
    const { path } = await client.create('/zabra-health-', '', options)
    await client.delete(path)
    const ms = Math.round(performance.now() - begun)
    return { check: 'write', verdict: 'ok', message: `committed in ${ms} ms, connection included` }
  } catch (error) {
    return { check: 'write', verdict: 'problem', message: (error as Error).message }
  }
}
