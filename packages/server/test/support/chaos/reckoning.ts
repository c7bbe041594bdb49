import type { RawClient } from '../raw-client.ts'
import { differences, dump, type DumpedNode } from './dump.ts'
import type { EnsembleProcesses } from './ensemble-processes.ts'
import { hex, type Ledger } from './ledger.ts'
import { places } from './places.ts'

/** A server logs its digest once per this many transactions. */
const digestEvery = 128

type Tree = ReadonlyMap<string, DumpedNode>

/**
 * Checks a healthy ensemble without load: nothing acknowledged is missing, and all servers are
 * equal.
 */
export async function reckon(
  ensemble: EnsembleProcesses,
  ledger: Ledger,
  sessions: ReadonlySet<bigint>,
  connect: (server: number) => Promise<RawClient>,
): Promise<void> {
  const floor = ledger.tide.zxid
  const trees = new Map<number, Tree>()
  for (const id of ensemble.ids) {
    const client = await connect(id)
    await client.must('sync', { path: '/' })
    trees.set(id, await dump(client))
    if (client.lastZxid < floor) {
      ledger.problem(`server ${id} is at ${hex(client.lastZxid)}, before ${hex(floor)}`)
    }
    await client.close()
  }
  const [first, ...others] = ensemble.ids
  const tree = trees.get(first!)!
  for (const id of others) {
    for (const difference of differences(tree, trees.get(id)!)) {
      ledger.problem(`servers ${first} and ${id} differ: ${difference}`)
    }
  }
  checkShared(tree, ledger)
  checkRegisters(tree, ledger)
  for (const [path, { stat }] of tree) {
    if (stat.ephemeralOwner !== 0n && !sessions.has(stat.ephemeralOwner)) {
      ledger.problem(`${path} is of session ${hex(stat.ephemeralOwner)}, which is gone`)
    }
  }
  await checkModes(ensemble, ledger)
  const client = await connect(first!)
  await checkDigests(ensemble, ledger, client)
  await client.close()
}

/**
 * Every acknowledged node exists under its name, none was created twice, and numbers follow zxids.
 */
function checkShared(tree: Tree, ledger: Ledger): void {
  const owners = new Map<string, string>()
  const prefix = `${places.shared}/`
  const nodes = [...tree].filter(([path]) => path.startsWith(prefix))
  let lastZxid = 0n
  for (const [path, { data, stat }] of nodes.toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    const twin = owners.get(data)
    if (twin !== undefined) ledger.problem(`${path} and ${twin} are the same write: ${data}`)
    owners.set(data, path)
    if (stat.czxid <= lastZxid) ledger.problem(`${path}: a later number, but an earlier zxid`)
    lastZxid = stat.czxid
  }
  for (const [path, { data, zxid }] of ledger.sharedAcks) {
    const node = tree.get(path)
    if (node === undefined) ledger.problem(`${path} of ${hex(zxid)} was acknowledged and is lost`)
    else if (node.data !== data || node.stat.czxid !== zxid) {
      const { czxid } = node.stat
      ledger.problem(`${path} is ${node.data} of ${hex(czxid)}, not ${data} of ${hex(zxid)}`)
    }
    owners.delete(data)
  }
  for (const [data, path] of owners) {
    if (!ledger.sharedUnanswered.has(data)) ledger.problem(`${path} was never asked for: ${data}`)
  }
}

function checkRegisters(tree: Tree, ledger: Ledger): void {
  for (const path of places.registers) {
    const node = tree.get(path)
    const register = ledger.register(path)
    if (node === undefined) {
      ledger.problem(`${path} is lost`)
      continue
    }
    const { version, mzxid } = node.stat
    if (version < register.version) {
      ledger.problem(`${path} has version ${version}, where ${register.version} was seen`)
    }
    register.observe('the reckoning', version, { data: node.data, mzxid })
  }
}

async function checkModes(ensemble: EnsembleProcesses, ledger: Ledger): Promise<void> {
  const modes = await Promise.all(ensemble.ids.map((id) => ensemble.mode(id)))
  if (modes.filter((mode) => mode === 'leader').length !== 1) {
    ledger.problem(`there is not one leader: ${modes.join(', ')}`)
  }
}

/**
 * Servers log digests at certain zxids: two servers that log the same zxid must agree. No server
 * may ever have reported that its tree differs from its leader's.
 */
async function checkDigests(
  ensemble: EnsembleProcesses,
  ledger: Ledger,
  client: RawClient,
): Promise<void> {
  const writes = Array.from({ length: 2 * digestEvery }, () =>
    client.must('setData', { path: places.barriers, data: null, version: -1 }),
  )
  await Promise.all(writes)
  const known = new Map<bigint, { digest: string; id: number }>()
  for (const id of ensemble.ids) {
    const answer = await ensemble.ask(id, 'hash')
    for (const [, text, digest] of answer.matchAll(/^(\w+): (-?\d+)$/gm)) {
      const zxid = BigInt(`0x${text}`)
      const other = known.get(zxid)
      if (other === undefined) known.set(zxid, { digest: digest!, id })
      else if (other.digest !== digest) {
        const theirs = `server ${other.id} ${other.digest}`
        ledger.problem(`at ${hex(zxid)} server ${id} has digest ${digest}, ${theirs}`)
      }
    }
    const complaint = /^.*the digest.*$/m.exec(ensemble.logOf(id))
    if (complaint !== null) ledger.problem(`server ${id} says: ${complaint[0]}`)
  }
  if (known.size === 0) ledger.problem('no server remembers a digest')
}
