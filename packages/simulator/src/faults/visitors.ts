/**
 * A server is cut off from the others long enough to serve reads only, and visitors that accept
 * that connect to it. It must answer what they read and refuse what they write, and the write must
 * never happen. They belong to no client, and what they read may never be committed.
 */
import {
  ConnectRequest,
  ConnectResponse,
  errorCodes,
  FrameCutter,
  operations,
  Reader,
  SetDataRequest,
  WatchableRequest,
  Writer,
  encodeText,
} from '@zabra/protocol'
import type { Cluster } from '../cluster/cluster.ts'
import type { SimServer } from '../cluster/server.ts'
import type { Fault } from './schedule.ts'

/** Longer than a server looks for a leader before it serves reads. */
const cutOffMs = 6000
const everyMs = 400
const patienceMs = 1000
const frameBytesMax = 1024 * 1024
const readXid = 1
const writeXid = 2

export function visitors(cluster: Cluster, server: SimServer, { forMs }: Fault): void {
  const { world, network, servers } = cluster
  const pairs = servers
    .filter((other) => other !== server)
    .flatMap(({ name }): [string, string][] => [
      [server.name, name],
      [name, server.name],
    ])
  for (const [from, to] of pairs) network.block(from, to)
  world.after(cutOffMs, () => {
    for (const [from, to] of pairs) network.unblock(from, to)
  })
  for (let at = forMs % everyMs; at < cutOffMs; at += everyMs) {
    world.after(at, () => new Visitor(cluster, server))
  }
}

/** Connects once, reads, tries to write, and leaves. */
class Visitor {
  private readonly cluster: Cluster
  private readonly server: SimServer
  private readonly leave: () => void
  private readonly send: (write: (writer: Writer) => void) => void
  private isAdmitted = false

  constructor(cluster: Cluster, server: SimServer) {
    this.cluster = cluster
    this.server = server
    const { world, network } = cluster
    const stream = network.connect('visitor', server.name)
    const timer = world.after(patienceMs, () => stream.close())
    this.leave = () => {
      timer.cancel()
      stream.close()
    }
    this.send = (write) => {
      const writer = new Writer()
      writer.int(0)
      write(writer)
      writer.intAt(0, writer.position - 4)
      stream.send(new Uint8Array(writer.written()))
    }
    const cutter = new FrameCutter(frameBytesMax)
    const frame = (bytes: Uint8Array, start: number, end: number): boolean => {
      this.receive(new Reader(bytes, start, end))
      return true
    }
    stream.onClosed = () => timer.cancel()
    stream.onBytes = (bytes) => cutter.push(bytes, bytes.length, { frame })
    this.send((writer) =>
      ConnectRequest.write(writer, {
        protocolVersion: 0,
        lastZxidSeen: 0n,
        timeOut: patienceMs,
        sessionId: 0n,
        passwd: new Uint8Array(16),
        readOnly: true,
      }),
    )
  }

  private receive(reader: Reader): void {
    if (this.isAdmitted) this.answered(reader.int(), reader.long(), reader.int())
    else this.admitted(ConnectResponse.read(reader))
  }

  private admitted({ sessionId, readOnly }: ConnectResponse): void {
    const { history, recorder } = this.cluster
    history.adminSessions.add(sessionId)
    if (readOnly !== true) {
      this.leave()
      return
    }
    this.isAdmitted = true
    recorder.count('visitors served')
    this.send((writer) => {
      writer.int(readXid)
      writer.int(operations.getData.code)
      WatchableRequest.write(writer, { path: '/a', watch: false })
    })
    this.send((writer) => {
      writer.int(writeXid)
      writer.int(operations.setData.code)
      SetDataRequest.write(writer, { path: '/a', data: encodeText('by a visitor'), version: -1 })
    })
  }

  private answered(xid: number, _zxid: bigint, err: number): void {
    const { recorder } = this.cluster
    const { name } = this.server
    const isRead = xid === readXid && (err === errorCodes.ok || err === errorCodes.noNode)
    const isRefused = xid === writeXid && err === errorCodes.notReadOnly
    if (!isRead && !isRefused) {
      recorder.violation(`${name} serves reads only, and answers a visitor's #${xid} with ${err}`)
    }
    if (xid === writeXid) this.leave()
  }
}
