import type { Database } from '@zabra/core'
import { Reader, Stat, Writer } from '@zabra/protocol'
import type { Cluster } from '../cluster/cluster.ts'
import { dumpTree, type TreeDump } from '../history/tree-dump.ts'
import type { ProgramMutant } from '../mutants/program-mutant.ts'
import type { Random } from '../world/random.ts'

/** The interface of workloads to the world of their programs. */
export class Stage {
  readonly random: Random
  readonly programs: number
  readonly mutant: ProgramMutant | undefined
  /** All faults are over. */
  isHealed = false
  /** Aborts when every program has completed a turn after that. */
  readonly ending = new AbortController()
  private readonly cluster: Cluster

  constructor(
    cluster: Cluster,
    random: Random,
    programs: number,
    mutant: ProgramMutant | undefined,
  ) {
    this.mutant = mutant
    this.cluster = cluster
    this.random = random
    this.programs = programs
  }

  get nowMs(): number {
    return this.cluster.world.nowMs
  }

  after(ms: number, act: () => void): void {
    this.cluster.world.after(ms, act)
  }

  violate(what: string): void {
    this.cluster.recorder.violation(what)
  }

  count(what: string, by = 1): void {
    this.cluster.recorder.count(what, by)
  }

  trace(line: string): void {
    this.cluster.recorder.trace(line)
  }

  /** The newest tree of all servers; undefined while none serves. */
  tree(): TreeDump | undefined {
    return this.newest(0n)
  }

  /** Like `tree`, but undefined if no server has applied that much. */
  newest(seenZxid: bigint): TreeDump | undefined {
    const dbs = this.databases().filter(({ lastZxid }) => lastZxid >= seenZxid)
    const newest = dbs.toSorted((a, b) => (a.lastZxid < b.lastZxid ? 1 : -1))[0]
    return newest === undefined ? undefined : dumpTree(newest)
  }

  /**
   * Whether a node created by this transaction still exists, for a client that has seen `seenZxid`;
   * undefined if no server has applied that much. Nodes do not come back, so any server that has
   * applied as much can tell. A name that is used only once needs no transaction.
   */
  isThere(path: string, czxid: bigint | undefined, seenZxid: bigint): boolean | undefined {
    const dbs = this.databases().filter(({ lastZxid }) => lastZxid >= seenZxid)
    if (dbs.length === 0) return undefined
    return dbs.every(({ tree }) => {
      const id = tree.find(path)
      if (id === 0) return false
      if (czxid === undefined) return true
      const writer = new Writer()
      tree.writeStat(id, writer)
      return Stat.read(new Reader(writer.written())).czxid === czxid
    })
  }

  private databases(): Database[] {
    return this.cluster.servers.flatMap(({ process }) => {
      const peer = process?.alive === true ? process.peer : undefined
      return peer?.isServing === true && !peer.isReadOnly ? [peer.db] : []
    })
  }
}
