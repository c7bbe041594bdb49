import type { Acl, Stat } from '@zabra/client'
import { permissionBit, permissionLetters } from '../../node/acl-text.ts'
import { hex } from '../../node/stat.ts'
import { ZkError } from './zk-command.ts'

const days = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat']
const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

/** `Wed Nov 18 19:27:17 UTC 2026`, in the time zone of this machine. */
export function zkDate(ms: bigint): string {
  const date = new Date(Number(ms))
  const two = (value: number): string => String(value).padStart(2, '0')
  const time = [date.getHours(), date.getMinutes(), date.getSeconds()].map(two).join(':')
  const day = `${days[date.getDay()]} ${months[date.getMonth()]} ${two(date.getDate())}`
  return `${day} ${time} ${zoneOf(date)} ${String(date.getFullYear()).padStart(4, '0')}`
}

function zoneOf(date: Date): string {
  const parts = new Intl.DateTimeFormat('en-US', { timeZoneName: 'short' }).formatToParts(date)
  return parts.find(({ type }) => type === 'timeZoneName')?.value ?? 'UTC'
}

/** The fields of a stat with zkCli.sh's names. */
export function zkStat(stat: Stat): string {
  return [
    `cZxid = ${hex(stat.czxid)}`,
    `ctime = ${zkDate(stat.ctime)}`,
    `mZxid = ${hex(stat.mzxid)}`,
    `mtime = ${zkDate(stat.mtime)}`,
    `pZxid = ${hex(stat.pzxid)}`,
    `cversion = ${stat.cversion}`,
    `dataVersion = ${stat.version}`,
    `aclVersion = ${stat.aversion}`,
    `ephemeralOwner = ${hex(stat.ephemeralOwner)}`,
    `dataLength = ${stat.dataLength}`,
    `numChildren = ${stat.numChildren}`,
  ].join('\n')
}

/** `[a, b]`. */
export function zkList(items: readonly string[]): string {
  return `[${items.join(', ')}]`
}

/** `'world,'anyone` and `: cdrwa`, for each entry. */
export function zkAcl(acl: readonly Acl[]): string {
  return acl
    .map(({ perms, id }) => `'${id.scheme},'${id.id}\n: ${permissionLetters(perms)}`)
    .join('\n')
}

/** `scheme:id:perms,...`; an id may contain colons. `complain` is called for letters that mean nothing. */
export function parseZkAcl(text: string, complain: (sentence: string) => void): Acl[] {
  const acl: Acl[] = []
  for (const entry of text.split(',')) {
    const first = entry.indexOf(':')
    const last = entry.lastIndexOf(':')
    if (first < 0 || first === last) {
      complain(`${entry} does not have the form scheme:id:perm`)
      continue
    }
    const id = { scheme: entry.slice(0, first), id: entry.slice(first + 1, last) }
    let perms = 0
    for (const letter of entry.slice(last + 1)) {
      const bit = permissionBit(letter)
      if (bit === undefined) complain(`Unknown perm type: ${letter}`)
      else perms |= bit
    }
    acl.push({ perms, id })
  }
  if (acl.length === 0) throw new ZkError('Acl is not valid : null')
  return acl
}

/** Bytes in a frame, sixteen a line. */
export function zkHexDump(data: Uint8Array): string {
  if (data.length === 0) return ''
  const frame = `+--------+${'-'.repeat(49)}+${'-'.repeat(16)}+`
  const lines = [
    `         +${'-'.repeat(49)}+`,
    `         |  0  1  2  3  4  5  6  7  8  9  a  b  c  d  e  f |`,
    frame,
  ]
  for (let at = 0; at < data.length; at += 16) {
    const row = data.subarray(at, at + 16)
    const bytes = Array.from(row, (byte) => ` ${byte.toString(16).padStart(2, '0')}`).join('')
    const text = Array.from(row, (byte) =>
      byte > 0x1f && byte < 0x7f ? String.fromCharCode(byte) : '.',
    )
    lines.push(
      `|${at.toString(16).padStart(8, '0')}|${bytes.padEnd(48)} |${text.join('').padEnd(16)}|`,
    )
  }
  return [...lines, frame].join('\n')
}
