/**
 * Whatever a finished snapshot contains beyond its name must be committed: a server has delivered
 * it. Its name alone would not tell later that it must be removed when a log is truncated.
 * And it holds each node once, because loading it does not look for duplicates.
 */
import { loadSnapshot, snapshotReach, type Disk } from '@zabra/core'
import { decodeText, type Reader } from '@zabra/protocol'
import type { SimServer } from '../cluster/server.ts'
import type { EnsembleRecord } from './ensemble-record.ts'
import type { Recorder } from './recorder.ts'
import { counterOf, hex } from './zxids.ts'

const unfinished = /^(?<directory>.*)\/new\.(?<name>snapshot\.(?<zxid>\w+)(?:\.\w+)?)$/

export class Snapshots {
  private readonly recorder: Recorder
  private readonly ensemble: EnsembleRecord

  constructor(recorder: Recorder, ensemble: EnsembleRecord) {
    this.recorder = recorder
    this.ensemble = ensemble
  }

  /** A snapshot got its final name; `from` was its temporary name. */
  async finished(server: SimServer, from: string): Promise<void> {
    const { directory, name, zxid: digits } = unfinished.exec(from)?.groups ?? {}
    if (directory === undefined || name === undefined) return
    const zxid = BigInt(`0x${digits}`)
    for (const path of await nodesTwice(server.disk.files, directory, name)) {
      this.recorder.violation(`${server.name} finishes ${name}, which holds ${path} twice`)
    }
    const reach = await snapshotReach(server.disk.files, directory, { name, bytes: 0, zxid })
    if (reach === undefined || reach.zxid <= zxid || counterOf(reach.zxid) === 0n) return
    this.recorder.count('snapshots that contain what came later')
    if (this.ensemble.delivered.has(reach.zxid)) return
    this.recorder.violation(
      `${server.name} finishes ${name} with ${hex(reach.zxid)} in it, which nobody delivered`,
    )
  }
}

const aclAndStatBytes = 68

/** The paths that stand in a snapshot more than once; none where it cannot be read. */
async function nodesTwice(disk: Disk, directory: string, name: string): Promise<string[]> {
  const seen = new Set<string>()
  const twice: string[] = []
  const node = (reader: Reader): boolean => {
    const length = reader.int()
    const path = decodeText(reader.bytes, reader.position, reader.position + length)
    reader.position += length
    if (length === 1) return false
    const dataBytes = Math.max(reader.int(), 0)
    reader.position += dataBytes + aclAndStatBytes
    if (seen.has(path)) twice.push(path)
    seen.add(path)
    return true
  }
  const ignore = (): void => {}
  const sink = { expect: ignore, session: ignore, acl: ignore, digest: ignore, node }
  await loadSnapshot(disk, directory, name, sink).catch(ignore)
  return twice
}
