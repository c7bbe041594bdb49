import type { LogFileEnd } from './transactions.ts'

/** How a log ends, in words, and whether that is how logs end. */
export function describeEnd({ end }: LogFileEnd): {
  readonly text: string
  readonly isSound: boolean
} {
  const at = `at byte ${end.position}`
  switch (end.reason) {
    case 'end':
    case 'endMark':
      return { text: 'sound', isSound: true }
    case 'noHeader':
      return { text: 'empty: no header', isSound: false }
    case 'badMagic':
      return { text: 'not a log', isSound: false }
    case 'cutOff':
      return { text: `cut off within a record ${at}`, isSound: false }
    case 'zeroLength':
      return { text: `zeros, then other bytes ${at}`, isSound: false }
    case 'badLength':
      return { text: `impossible length ${at}`, isSound: false }
    case 'noEndOfRecord':
      return { text: `a record without its end ${at}`, isSound: false }
    case 'badChecksum':
      return { text: `wrong checksum ${at}`, isSound: false }
    case 'badRecord':
      return { text: `a record out of order ${at}`, isSound: false }
  }
}
