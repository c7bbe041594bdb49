/**
 * Compares what the servers of an ensemble report by HTTP and by four-letter words with what
 * Apache's report: a leader, a follower and an observer of each. It also exchanges snapshots
 * between them.
 *
 *     npm run test:admin -- [--verbose]
 */
import { parseArgs } from 'node:util'
import { findApache } from '../src/apache.ts'
import { apacheCommand, zabraFromSources } from '../src/commands.ts'
import type { EnsembleServer } from '../src/ensemble.ts'
import { say } from '../src/tools.ts'
import { AdminEnsemble, command, roles } from './ensemble.ts'
import { isOnlyApaches, isOnlyZabras } from './expected.ts'
import { password } from '../src/super-user.ts'
import { shapeOf, shapeOfWord } from './shape.ts'

const commands = `
  configuration connection_stat_reset connections dirs dump environment get_trace_mask hash
  initial_configuration is_read_only last_snapshot leader monitor observers
  observer_connection_stat_reset ruok server_stats stats voting_view watches watches_by_path
  watch_summary zabstate nonsense restore
`
  .trim()
  .split(/\s+/)
const words = ['conf', 'cons', 'dirs', 'isro', 'mntr', 'ruok', 'srvr', 'stat', 'wchs']
const authorization = { Authorization: `digest ${password}` }
const ofSnapshot = { ...authorization, 'Content-Type': 'application/octet-stream' }

const { values } = parseArgs({ options: { verbose: { type: 'boolean', default: false } } })
const zabra = zabraFromSources()
process.exitCode = await main()

async function main(): Promise<number> {
  const apache = await findApache('3.9')
  if (!apache.ok) {
    console.log(`!!! NOT RUN: ${apache.reason}`)
    return 1
  }
  const problems: string[] = []
  let compared = 0
  const sides: AdminEnsemble[] = []
  try {
    for (const kind of [apacheCommand(apache), zabra]) sides.push(await AdminEnsemble.start(kind))
    const [reference, candidate] = sides as [AdminEnsemble, AdminEnsemble]
    for (const side of sides) await work(side)
    for (const role of roles) {
      const members = [await reference.memberOf(role), await candidate.memberOf(role)] as const
      for (const name of commands) {
        const [a, b] = await Promise.all(members.map((member) => commandShape(member, name)))
        problems.push(...differences(`${role}: ${name}`, a!, b!))
        compared += a!.length
      }
      for (const name of words) {
        const [a, b] = await Promise.all(members.map((member) => wordShape(member, name)))
        problems.push(...differences(`${role}: ${name} (word)`, a!, b!))
        compared += a!.length
      }
    }
    problems.push(...(await handOver(reference, candidate)))
    problems.push(...(await handOver(candidate, reference)))
    const mixed = await AdminEnsemble.start(zabra, apacheCommand(apache))
    sides.push(mixed)
    problems.push(...(await restoreForOthers(mixed)))
  } finally {
    await Promise.all(sides.map((side) => side.dispose()))
  }
  for (const problem of problems) console.log(problem)
  console.log(`${compared} lines compared, ${problems.length} differ`)
  return problems.length === 0 && compared > 0 ? 0 : 1
}

/** A session at each server that writes, reads, watches and stays. */
async function work(side: AdminEnsemble): Promise<void> {
  for (const role of roles) {
    const client = await side.connect(await side.memberOf(role))
    await client.create(`/${role}`, 'some data')
    await client.must('getData', { path: `/${role}`, watch: true })
  }
}

async function commandShape(member: EnsembleServer, name: string): Promise<string[]> {
  // Without an identity, both refuse to restore.
  const init = name === 'restore' ? {} : { headers: authorization }
  const { status, body } = await command(member, name, init)
  const text = Buffer.from(body).toString()
  if (values.verbose) say(`server ${member.id}: ${name}: ${text}`)
  if (!text.startsWith('{')) return [`status ${status}`]
  return [`status ${status}`, ...shapeOf(JSON.parse(text))]
}

async function wordShape(member: EnsembleServer, name: string): Promise<string[]> {
  const answer = await member.ask(name)
  if (values.verbose) say(`server ${member.id}: ${name}: ${answer}`)
  return shapeOfWord(name, answer)
}

function differences(what: string, apaches: string[], zabras: string[]): string[] {
  const missing = apaches.filter((line) => !zabras.includes(line) && !isOnlyApaches(line))
  const added = zabras.filter((line) => !apaches.includes(line) && !isOnlyZabras(line))
  return [
    ...missing.map((line) => `${what}: only Apache has ${line}`),
    ...added.map((line) => `${what}: only zabra has ${line}`),
  ]
}

/** Takes a snapshot of one, and restores it on the leader of the other. */
async function handOver(from: AdminEnsemble, to: AdminEnsemble): Promise<string[]> {
  const what = `snapshot of ${from.name}, restored by ${to.name}`
  const source = await from.memberOf('leader')
  const taken = await command(source, 'snapshot', { headers: authorization })
  const size = Number(taken.headers.get('snapshot_size'))
  if (taken.status !== 200 || size !== taken.body.length) {
    return [`${what}: taking it answers ${taken.status}, ${size} of ${taken.body.length} bytes`]
  }
  const lastZxid = BigInt(taken.headers.get('last_zxid') ?? '')
  const init = { method: 'POST', headers: ofSnapshot, body: taken.body }
  const restored = await command(await to.memberOf('leader'), 'restore', init)
  const text = Buffer.from(restored.body).toString()
  if (restored.status === 200 && text.includes(`"last_zxid" : ${lastZxid}`)) return []
  return [`${what}: restoring it answers ${restored.status}: ${text}`]
}

/** The Apache followers and observers of a zabra leader get what it restores. */
async function restoreForOthers(mixed: AdminEnsemble): Promise<string[]> {
  const leader = await mixed.memberOf('leader')
  if (leader.name !== 'zabra') return ['mixed: zabra was to lead, and does not']
  const client = await mixed.connect(await mixed.memberOf('follower'))
  await client.create('/kept', 'before')
  const taken = await command(leader, 'snapshot', { headers: authorization })
  for (let i = 0; i < 20; i++) await client.create(`/later-${i}`)
  const init = { method: 'POST', headers: ofSnapshot, body: taken.body }
  const { status, body } = await command(leader, 'restore', init)
  if (status !== 200) return [`mixed: restoring answers ${status}: ${Buffer.from(body).toString()}`]
  await mixed.untilServing()
  const names = await mixed.names()
  if (names.every((listing) => listing === 'kept zookeeper')) return []
  return [`mixed: after restoring the servers have ${names.join(', ')}`]
}
