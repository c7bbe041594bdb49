import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { freePorts } from '../../packages/server/test/support/free-ports.ts'
import { ConnectionLostError, RawClient } from '../../packages/server/test/support/raw-client.ts'
import { anyCommand, loopback, zabraCommand, type ServerCommand } from '../src/servers.ts'
import { password, superUserCfg } from '../src/super-user.ts'
import { Member, until } from './ensemble.ts'
import { HeldSession } from './held-session.ts'

const commonCfg = `
tickTime=500
initLimit=20
syncLimit=10
maxSessionTimeout=600000
maxClientCnxns=0
4lw.commands.whitelist=*
`
/** So short that an epoch passes in a few seconds. */
const counterMax = 150
const writesMax = 2000
const path = '/counted'

/** Leadership leaves zabra for an Apache server, by command and by the end of an epoch. */
export async function handOver(apache: ServerCommand): Promise<readonly string[]> {
  const problems: string[] = []
  for (const scene of [byCommand, byCounter]) {
    const [adminPort, ...ports] = await freePorts(7)
    const lines = [1, 2, 3].map((id) => {
      return `server.${id}=${loopback}:${ports[2 * id - 2]}:${ports[2 * id - 1]}`
    })
    const cfg = `${commonCfg}${lines.join('\n')}`
    const zabraCfg = `${cfg}\nadmin.serverPort=${adminPort}\nadmin.enableServer=true\n${superUserCfg}`
    const zabra = scene === byCounter ? shortEpochs() : zabraCommand()
    const members = [1, 2, 3].map((id) => {
      return id === 3 ? new Member(id, zabra, zabraCfg) : new Member(id, apache, cfg)
    })
    try {
      // Two of them first, of which zabra has the larger number: so it leads.
      for (const together of [[members[0]!, members[2]!], [members[1]!]]) {
        await Promise.all(together.map(({ server }) => server.launch()))
        await Promise.all(together.map(({ server }) => server.untilServing()))
      }
      await scene(members, adminPort!)
    } catch (error) {
      problems.push(error instanceof Error ? error.message : String(error))
      for (const { server } of members) problems.push(server.logTail(12))
    } finally {
      await Promise.all(members.map(({ server }) => server.dispose()))
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

/** Writes on, wherever there is a server, until the epoch that zabra leads is over. */
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
  await until('the servers do not come to serve again', async () => {
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

/** zabra as tests run it, with room for few transactions in an epoch. */
function shortEpochs(): ServerCommand {
  const script = new URL('../../packages/server/test/support/serve.ts', import.meta.url)
  const tsx = import.meta.resolve('tsx')
  const options = ['--conditions=@zabra/source', '--import', tsx]
  const command = [process.execPath, ...options, fileURLToPath(script)]
  return anyCommand('zabra', ['env', `COUNTER_MAX=${counterMax}`, ...command])
}
