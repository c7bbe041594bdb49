import { setTimeout as delay } from 'node:timers/promises'
import { ConnectionLostError, RawClient } from '../../packages/server/test/support/raw-client.ts'
import { zabraCommand, zabraFromSources, type ServerCommand } from '../src/commands.ts'
import { Ensemble } from '../src/ensemble.ts'
import { loopback } from '../src/servers.ts'
import { password, superUserCfg } from '../src/super-user.ts'
import { until } from '../src/until.ts'
import { membersOf, patienceMs, properties, type Member } from './ensemble.ts'
import { HeldSession } from './held-session.ts'

const commonCfg = `
tickTime=500
initLimit=20
syncLimit=10
maxSessionTimeout=600000
maxClientCnxns=0
4lw.commands.whitelist=*
`
/** Small enough that an epoch ends within a few seconds. */
const counterMax = 150
const writesMax = 2000
const path = '/counted'

/** zabra hands over leadership to an Apache server, by command and at the end of an epoch. */
export async function handOver(apache: ServerCommand): Promise<readonly string[]> {
  const problems: string[] = []
  for (const scene of [byCommand, byCounter]) {
    const zabra = scene === byCounter ? shortEpochs() : zabraCommand()
    const ensemble = await Ensemble.open([apache, apache, zabra], {
      cfg: commonCfg,
      cfgOf: ({ id, ports }) => (id === 3 ? adminCfg(ports.spare) : ''),
      properties,
    })
    try {
      // Two of them first, of which zabra has the larger number and so leads.
      await ensemble.start([1, 3], [2])
      await scene(membersOf(ensemble), ensemble.server(3).ports.spare)
    } catch (error) {
      problems.push(error instanceof Error ? error.message : String(error))
      problems.push(...ensemble.logTails(12))
    } finally {
      await ensemble.dispose()
    }
  }
  return problems
}

async function byCommand(members: readonly Member[], adminPort: number): Promise<void> {
  const zabra = members[2]!
  if ((await zabra.mode()) !== 'leader') throw new Error('zabra does not lead at first')
  const held = await HeldSession.open(members[0]!, '/held')
  const url = `http://${loopback}:${adminPort}/commands/hand_over`
  const headers = { authorization: `digest ${password}` }
  const response = await fetch(url, { method: 'POST', headers })
  const { leader } = (await response.json()) as { leader?: number }
  if (leader === undefined || leader === zabra.id) throw new Error(`then server ${leader} leads`)
  if ((await zabra.mode()) !== 'follower') throw new Error('zabra does not follow then')
  await held.leave()
  await held.arrive(zabra)
  await held.expectEphemeral()
}

/** Writes on any available server until the epoch that zabra leads is over. */
async function byCounter(members: readonly Member[]): Promise<void> {
  if ((await members[2]!.mode()) !== 'leader') throw new Error('zabra does not lead at first')
  const held = await HeldSession.open(members[0]!, '/held')
  await held.client.create(path)
  const next = (held.client.lastZxid >> 32n) + 1n
  let lastZxid = 0n
  let acknowledged = 0
  for (let attempt = 0; lastZxid >> 32n < next; attempt++) {
    const { port } = members[attempt % 3]!
    const options = { lastZxidSeen: lastZxid, timeoutMs: 20_000, patienceMs: 5000 }
    try {
      const client = await RawClient.connect(port, options)
      while (lastZxid >> 32n < next) {
        if (acknowledged > writesMax) throw new Error(`no epoch ends within ${writesMax} writes`)
        await client.must('setData', { path, data: null, version: -1 })
        acknowledged++
        lastZxid = client.lastZxid
      }
      await client.close()
    } catch (error) {
      if (!(error instanceof ConnectionLostError)) throw error
      await delay(20)
    }
  }
  await until('the servers do not come to serve again', patienceMs, async () => {
    const modes = await Promise.all(members.map((member) => member.mode()))
    return modes.every((mode) => mode !== undefined)
  })
  await held.leave()
  for (const member of members) {
    await held.arrive(member)
    await held.expectEphemeral()
    await held.client.must('sync', { path })
    const { stat } = await held.client.must('exists', { path, watch: false })
    if (stat.version < acknowledged) {
      throw new Error(`${member.name} has ${stat.version} of ${acknowledged} writes`)
    }
    await held.leave()
  }
}

function adminCfg(port: number): string {
  return `admin.serverPort=${port}\nadmin.enableServer=true\n${superUserCfg}`
}

/** zabra with small epochs. */
function shortEpochs(): ServerCommand {
  return zabraFromSources({ COUNTER_MAX: String(counterMax) })
}
