import { askFourLetters } from '../../src/four-letters.ts'
import type { Stage } from './stage.ts'
import type { Told } from './transcript.ts'

const exactLines = /^(Mode|Node count|Outstanding|Watch|Connections)/
const connectionLine = /^ ?\//

/** The metrics that every build of Apache reports. */
const metrics = new Set(
  `version server_state ephemerals_count avg_latency num_alive_connections approximate_data_size
   open_file_descriptor_count outstanding_requests max_latency watch_count min_latency packets_sent
   packets_received znode_count max_file_descriptor_count global_sessions local_sessions`
    .split(/\s+/)
    .map((name) => `zk_${name}`),
)

/** The answer to a four-letter word, without the parts that depend on time or on the process. */
export async function tellFourLetters(stage: Stage, word: string): Promise<Told> {
  const { host, port } = stage.addressOf(0)
  const lines = (await askFourLetters(host, port, word)).split('\n')
  const keys = (separator: string) => lines.map((line) => line.split(separator)[0] ?? '')
  switch (word) {
    case 'srvr':
    case 'stat':
      return lines.filter((line) => !connectionLine.test(line)).map(maskStatusLine)
    case 'wchs':
    case 'ruok':
    case 'isro':
      return lines
    case 'mntr':
      return keys('\t')
        .filter((key) => metrics.has(key))
        .toSorted()
    case 'dump':
      return withoutEmptySets(lines)
        .map((line) => maskSessionLine(stage, word, line))
        .toSorted()
    case 'wchp':
    case 'wchc':
      return lines.map((line) => maskSessionLine(stage, word, line)).toSorted()
    case 'conf':
      return keys('=')
        .filter((key) => key !== 'adminAddress')
        .toSorted()
    case 'envi':
      return keys('=').filter((key) => /^(Environment|zookeeper.version|host.name|user)/.test(key))
    case 'cons':
      return [lines.length > 1]
    default:
      return [maskNumbers(lines[0] ?? '')]
  }
}

function maskStatusLine(line: string): string {
  if (line.startsWith('Zookeeper version')) return 'Zookeeper version: #'
  return exactLines.test(line) ? line : maskNumbers(line)
}

/**
 * A dump without parts that depend on timing: Apache lists expiry times without sessions, and
 * sessions without ephemerals, until it removes them.
 */
function withoutEmptySets(lines: readonly string[]): string[] {
  return lines.filter((line, i) => {
    if (/expire at/.test(line)) return false
    return !/^0x[0-9a-f]+:$/.test(line) || (lines[i + 1] ?? '').startsWith('\t')
  })
}

function maskSessionLine(stage: Stage, word: string, line: string): string {
  const told = line.replace(/0x[0-9a-f]+/g, (id) =>
    String(stage.masks.owner(BigInt.asIntN(64, BigInt(id)))),
  )
  const masked = stage.masks.path(told) ?? ''
  return word !== 'dump' || /^\t?(0x|S\d)/.test(masked) ? masked : maskNumbers(masked)
}

function maskNumbers(line: string): string {
  return line.replace(/0x[0-9a-f]+/g, '0x#').replace(/\d+/g, '#')
}
