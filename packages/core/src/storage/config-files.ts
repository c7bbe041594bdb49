import { decodeText, encodeText } from '@zabra/protocol'
import { faultCode, type Disk } from '../ports.ts'
import type { ConfigStore } from '../membership/membership-state.ts'
import { formatMembership, type Membership } from '../membership/membership.ts'
import type { ServerId } from '../membership/quorum.ts'

/**
 * The members beside a server's configuration file, as Apache keeps them: those that are committed
 * in `zoo.cfg.dynamic.VERSION`, to which the file itself points from then on, and those that are
 * only proposed in `zoo.cfg.dynamic.next`.
 */
export class ConfigFiles implements ConfigStore {
  private readonly disk: Disk
  /** The absolute path of the configuration file. */
  private readonly path: string
  private readonly self: ServerId

  constructor(disk: Disk, path: string, self: ServerId) {
    this.disk = disk
    this.path = path
    this.self = self
  }

  async saveSeen(config: Membership | undefined): Promise<void> {
    const path = `${this.path}.dynamic.next`
    if (config !== undefined) {
      await this.write(path, sortedLines(config).join('\n'))
    } else if (await this.exists(path)) {
      await this.disk.remove(path)
      await this.disk.syncDirectory(directoryOf(path))
    }
  }

  async saveCommitted(config: Membership): Promise<void> {
    const own = config.servers.get(this.self)
    // Nobody can be started with a configuration in which it has no address. With the old one it
    // hears from the others that it is no member any more.
    if (own === undefined) return
    const dynamic = `${this.path}.dynamic.${BigInt.asUintN(64, config.version).toString(16)}`
    const lines = sortedLines(config).filter((line) => !line.startsWith('version='))
    await this.write(dynamic, lines.join('\n'))
    const text = await this.read(this.path)
    if (/^[ \t]*server\./m.test(text)) await this.write(`${this.path}.bak`, text)
    await this.write(this.path, pointTo(text, dynamic, own.client !== undefined))
  }

  private async exists(path: string): Promise<boolean> {
    try {
      await (await this.disk.openRead(path)).close()
      return true
    } catch (error) {
      if (faultCode(error) === 'ENOENT') return false
      throw error
    }
  }

  private async read(path: string): Promise<string> {
    const file = await this.disk.openRead(path)
    try {
      const bytes = new Uint8Array(file.bytes)
      const count = await file.read(0, bytes)
      return decodeText(bytes, 0, count)
    } finally {
      await file.close()
    }
  }

  /** Writes a file completely or not at all; durable when it resolves. */
  private async write(path: string, text: string): Promise<void> {
    const { disk } = this
    // The file may contain secrets, so its copies get the same permissions.
    const file = await disk.create(`${path}.tmp`, { permissionsOf: this.path })
    try {
      await file.write(encodeText(text), 0)
      await file.sync()
    } finally {
      await file.close()
    }
    await disk.rename(`${path}.tmp`, path)
    await disk.syncDirectory(directoryOf(path))
  }
}

function sortedLines(config: Membership): string[] {
  return formatMembership(config).split('\n').toSorted()
}

function directoryOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/')) || '/'
}

const memberKey = /^[ \t\f]*(server\.|group|weight|dynamicConfigFile|peerType)/
const clientKey = /^[ \t\f]*clientPort/

/** A configuration file that has its members elsewhere; all that is not about them stays. */
function pointTo(text: string, dynamicFile: string, hasClientPort: boolean): string {
  const kept: string[] = []
  let isDropped = false
  let isContinued = false
  for (const line of text.split('\n')) {
    if (!isContinued) {
      isDropped = memberKey.test(line) || (hasClientPort && clientKey.test(line))
    }
    const isComment: boolean = !isContinued && /^[ \t\f]*[#!]/.test(line)
    isContinued = !isComment && /\\*$/.exec(line.replace(/\r$/, ''))![0].length % 2 === 1
    if (!isDropped) kept.push(line)
  }
  while (kept.at(-1)?.trim() === '') kept.pop()
  return [...kept, `dynamicConfigFile=${dynamicFile}`, ''].join('\n')
}
