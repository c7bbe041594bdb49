import { connect, type Socket } from 'node:net'
import { connect as connectTls, type ConnectionOptions } from 'node:tls'
import { encode, encodePacket, LearnerInfo, packetTypes } from '@zabra/protocol'
import type { Identity } from '../../packages/server/src/tls/issue/certificate.ts'
import { freePorts } from '../../packages/server/test/support/free-ports.ts'
import { RawClient } from '../../packages/server/test/support/raw-client.ts'
import { command } from '../admin/ensemble.ts'
import { membersOf, patienceMs, type Member } from '../mixed/ensemble.ts'
import { HeldSession } from '../mixed/held-session.ts'
import type { Apache } from '../src/apache.ts'
import { apacheCommand, zabraCommand, type ServerCommand } from '../src/commands.ts'
import { loopback } from '../src/servers.ts'
import { until } from '../src/until.ts'
import { saslCfg, SecureEnsemble, type Outcome } from './ensembles.ts'
import type { Pki } from './pki.ts'

/** All followers accept observers on the same port, so each needs its own address. */
const hosts = ['127.0.0.2', '127.0.0.3', '127.0.0.4', '127.0.0.5']
const leaderId = 3
const observerId = 4

/**
 * Observers that connect to followers of the other kind and of their own, over TLS: they serve
 * clients, and go to another follower when theirs restarts.
 */
export async function* runObserverMasters(
  apache: Apache,
  pki: Pki,
  only: string,
): AsyncGenerator<Outcome> {
  const [java, own] = [apacheCommand(apache), zabraCommand()]
  const casts: readonly { commands: readonly ServerCommand[]; who: string }[] = [
    { commands: [java, java, own, own], who: "Apache's followers serve a zabra observer" },
    { commands: [own, own, java, java], who: "zabra's followers serve an Apache observer" },
    { commands: [own, own, java, own], who: "zabra's followers serve a zabra observer" },
  ]
  for (const usesSasl of [false, true]) {
    for (const { commands, who } of casts) {
      const where = `${apache.version}, ${usesSasl ? 'TLS and SASL' : 'TLS'}, ${who}`
      if (!where.includes(only)) continue
      yield { where, problems: await runOne(commands, pki, usesSasl) }
    }
  }
}

async function runOne(
  commands: readonly ServerCommand[],
  pki: Pki,
  usesSasl: boolean,
): Promise<string[]> {
  const [observerPort = 0] = await freePorts(1)
  const identities = hosts.map((host, i) =>
    // Apache compares the certificate with the address that the connection comes from.
    pki.authority.issue(`server-${i + 1}`, { hosts: [host, loopback] }),
  )
  const files = identities.map((identity, i) =>
    pki.authority.write(`member-${i + 1}.pem`, pki.authority.pemOf(identity)),
  )
  const ensemble = await SecureEnsemble.open(commands, pki, {
    cfg: `
observerMasterPort=${observerPort}
admin.serverAddress=${loopback}
sslQuorum=true
ssl.quorum.trustStore.location=${pki.path('ca.pem')}
ssl.quorum.enabledProtocols=TLSv1.2,TLSv1.3
${usesSasl ? saslCfg : ''}`,
    cfgOf: ({ id, ports }) =>
      `admin.serverPort=${ports.spare}\nssl.quorum.keyStore.location=${files[id - 1]}`,
    observers: [observerId],
    peerHosts: hosts,
  })
  const scene = new Scene(ensemble, pki, { observerPort, identities, usesSasl })
  try {
    await scene.play()
    return scene.problems
  } catch (error) {
    return [...scene.problems, String(error), ...ensemble.servers.map((each) => each.logTail(15))]
  } finally {
    await ensemble.dispose()
  }
}

interface Setting {
  readonly observerPort: number
  /** The certificate of each server. */
  readonly identities: readonly Identity[]
  readonly usesSasl: boolean
}

class Scene {
  readonly problems: string[] = []
  private readonly ensemble: SecureEnsemble
  private readonly pki: Pki
  private readonly setting: Setting
  private readonly members: readonly Member[]
  private readonly leader: Member
  private readonly observer: Member

  constructor(ensemble: SecureEnsemble, pki: Pki, setting: Setting) {
    this.ensemble = ensemble
    this.pki = pki
    this.setting = setting
    this.members = membersOf(ensemble)
    this.leader = this.members[leaderId - 1]!
    this.observer = this.members[observerId - 1]!
  }

  async play(): Promise<void> {
    // With two servers, the one with the higher number leads.
    await this.ensemble.start([2, leaderId], [1, observerId])
    const held = await HeldSession.open(this.observer, '/watched')
    await this.use('first', held)
    // Both followers in turn serve the observer and restart.
    for (const round of [1, 2]) {
      const master = await this.master()
      await master.server.stop()
      await held.moveTo(this.observer)
      if ((await this.master()) === master) throw new Error(`${master.name} is down, and serves`)
      await this.use(`without-${round}`, held)
      await master.server.start()
      await this.use(`again-${round}`, held)
    }
    await this.observer.server.stop()
    for (const follower of this.followers) await this.probe(follower)
  }

  private get followers(): readonly Member[] {
    return this.members.filter((member) => member !== this.leader && member !== this.observer)
  }

  /** The follower that serves the observer; the leader serves none. */
  private async master(): Promise<Member> {
    let master: Member | undefined
    await until('no follower alone serves the observer', patienceMs, async () => {
      if ((await this.observer.mode()) !== 'observer') return false
      const voters = [...this.followers, this.leader].filter(({ server }) => server.running)
      const served = await Promise.all(voters.map((voter) => this.observersOf(voter)))
      const masters = voters.filter((_, i) => served[i]!.includes(observerId))
      master = masters[0]
      if (masters.length !== 1 || master === this.leader) return false
      type Monitor = { observer_master_id: number }
      const { observer_master_id: id } = await admin<Monitor>(this.observer, 'monitor')
      return id === master!.id
    })
    return master!
  }

  private async observersOf(member: Member): Promise<number[]> {
    const { observers } = await admin<{ observers: readonly { sid: number }[] }>(
      member,
      'observers',
    )
    return observers.map(({ sid }) => sid)
  }

  /** Writes, syncs and reads through every server; a change elsewhere fires watches on the observer. */
  private async use(name: string, held: HeldSession): Promise<void> {
    await this.master()
    this.problems.push(...(await this.ensemble.work(name)))
    if ((await this.leader.mode()) !== 'leader') this.problems.push(`${name}: another server leads`)
    await held.expectEphemeral()
    await held.watch()
    const other = await RawClient.connect(this.leader.port)
    await held.disturb(other)
    await held.expectEvents()
    await other.close()
  }

  /** The port answers the observer's greeting only over TLS with a certificate that is valid for it. */
  private async probe({ name, id, kind }: Member): Promise<void> {
    const { pki, setting } = this
    const { observerPort: port, identities, usesSasl } = setting
    const target = { host: hosts[id - 1]!, port }
    const secure = (options: ConnectionOptions): Promise<boolean> =>
      isGreeted(connectTls({ ...options, ca: pki.authority.pem, ...target }))
    const answers = {
      'plain bytes': await isGreeted(connect(target)),
      'TLS without a certificate': await secure({}),
      'TLS with a certificate of a stranger': await secure(
        pki.stranger.client(
          pki.stranger.issue('mallory', { hosts: [hosts[observerId - 1]!, loopback] }),
        ),
      ),
      'TLS with the certificate of the leader': await secure(
        pki.authority.client(identities[leaderId - 1]),
      ),
      'TLS with the certificate of the observer': await secure(
        pki.authority.client(identities[observerId - 1]),
      ),
    }
    const accepted = Object.entries(answers).flatMap(([way, isAccepted]) => (isAccepted ? way : []))
    // With SASL, a server has to authenticate before it greets. Apache does not check that a
    // certificate belongs to the server that a connection claims to be.
    const expected = usesSasl
      ? []
      : [
          ...(kind === 'apache' ? ['TLS with the certificate of the leader'] : []),
          'TLS with the certificate of the observer',
        ]
    if (accepted.join() !== expected.join()) {
      const [got, wanted] = [accepted, expected].map((ways) => ways.join(', ') || 'nothing')
      this.problems.push(`${name} answers on its port for observers: ${got}; it must: ${wanted}`)
    }
  }
}

/** The answer to an admin command. */
async function admin<T>({ server }: Member, name: string): Promise<T> {
  const { body } = await command(server, name)
  return JSON.parse(Buffer.from(body).toString()) as T
}

/** Whether the greeting of the observer is answered with LEADERINFO before the connection ends. */
function isGreeted(socket: Socket): Promise<boolean> {
  const info = { serverId: BigInt(observerId), protocolVersion: 0x10000, configVersion: 0n }
  return new Promise((resolve, reject) => {
    const received: Buffer[] = []
    const impatience = setTimeout(() => {
      socket.destroy()
      reject(new Error(`port ${socket.remotePort} neither answers nor closes the connection`))
    }, patienceMs)
    socket.on('data', (bytes: Buffer) => {
      received.push(bytes)
      const all = Buffer.concat(received)
      if (all.length >= 4 && all.readInt32BE(0) === packetTypes.leaderInfo) socket.destroy()
    })
    socket.on('error', () => socket.destroy())
    socket.on('close', () => {
      clearTimeout(impatience)
      const all = Buffer.concat(received)
      resolve(all.length >= 4 && all.readInt32BE(0) === packetTypes.leaderInfo)
    })
    socket.write(encodePacket('observerInfo', 0n, encode(LearnerInfo, info)))
  })
}
