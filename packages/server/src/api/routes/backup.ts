import { CopyError, type CopyProblem, hex, looksComplete, snapshotsAmong } from '@zabra/core'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { fileChunks } from '../../disk/file-chunks.ts'
import type { ServerView } from '../../view/server-view.ts'
import { ApiError, badRequest } from '../api-error.ts'
import { streamed, type Call, type Route } from '../route.ts'

const bytesType = 'application/octet-stream'

/**
 * Data for `zabra backup`. It includes everything, whatever ACLs say, so only administrators get
 * it.
 */
export const backup: readonly Route[] = [
  {
    method: 'GET',
    path: '/backup/snapshot',
    summary:
      'The newest snapshot file, or one taken now. The headers Zabra-File and Zabra-Zxid name it; ' +
      'it is exact only together with the log behind it',
    role: 'admin',
    isAudited: true,
    parameters: {
      fresh: { kind: 'flag', description: 'Take a snapshot now' },
    },
    answer: bytesType,
    handle: sendSnapshot,
  },
  {
    method: 'GET',
    path: '/backup/log',
    summary:
      'Committed transactions behind one, as records of the transaction log. The header ' +
      'Zabra-Zxid names the last one, Zabra-Time when that was so',
    role: 'admin',
    isAudited: true,
    parameters: {
      after: { kind: 'text', description: 'The zxid to continue from', isRequired: true },
      checksum: {
        kind: 'text',
        description:
          'The checksum of its record, in hexadecimal; without it a snapshot of that zxid must exist',
      },
      to: { kind: 'text', description: 'The last zxid; without it, the last one committed' },
    },
    answer: bytesType,
    errors: [409],
    handle: sendLog,
  },
]

async function sendSnapshot({ view, query, response }: Call): Promise<unknown> {
  const snapshot =
    (query.flag('fresh') ? undefined : await newestSnapshot(view)) ?? (await view.snapshot())
  if (snapshot === undefined) {
    throw new ApiError(503, 'snapshotFailed', 'The snapshot failed; see the log of the server')
  }
  const { file: name, zxid } = snapshot
  const file = await view.openSnapshot(name)
  try {
    response.writeHead(200, {
      ...headers,
      'Content-Length': file.bytes,
      'Zabra-File': name,
      'Zabra-Zxid': hex(zxid),
    })
    await pipeline(Readable.from(fileChunks(file)), response)
  } finally {
    await file.close()
  }
  return streamed
}

async function newestSnapshot({
  storage: { disk, snapshotDir },
}: ServerView): Promise<{ readonly file: string; readonly zxid: bigint } | undefined> {
  const snapshots = snapshotsAmong(await disk.list(snapshotDir))
  for (const snapshot of snapshots.toReversed()) {
    const { name: file, zxid } = snapshot
    if (await looksComplete(disk, snapshotDir, snapshot)) return { file, zxid }
  }
  return undefined
}

async function sendLog({ view, query, response }: Call): Promise<unknown> {
  const after = zxidIn(query.text('after')!, 'after')
  const checksum = query.text('checksum')
  if (checksum !== undefined && !/^[0-9a-f]{1,8}$/.test(checksum)) {
    throw badRequest('checksum: expected a hexadecimal number')
  }
  const wanted = query.text('to')
  const takenAt = new Date().toISOString()
  const committed = await view.loggedZxid()
  const to = wanted === undefined ? committed : zxidIn(wanted, 'to')
  if (to > committed || after > to) {
    const message = `This server has reached ${hex(committed)}, which is before ${hex(to > committed ? to : after)}`
    throw new ApiError(409, 'behind', message)
  }
  const records = view.copyLog({
    after,
    checksum: checksum === undefined ? undefined : Number.parseInt(checksum, 16) | 0,
    to,
  })
  try {
    // Checked before anything is sent: missing logs get an error of their own.
    const first = await records.next()
    response.writeHead(200, { ...headers, 'Zabra-Zxid': hex(to), 'Zabra-Time': takenAt })
    await pipeline(Readable.from(withFirst(first, records)), response)
  } catch (error) {
    if (!(error instanceof CopyError)) throw error
    throw new ApiError(409, codes[error.problem], error.message)
  } finally {
    await records.return()
  }
  return streamed
}

const codes: Readonly<Record<CopyProblem, string>> = {
  purged: 'logsPurged',
  otherHistory: 'otherHistory',
  behind: 'behind',
  gap: 'logGap',
  moved: 'moved',
}

const headers = {
  'Content-Type': bytesType,
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
} as const

async function* withFirst(
  first: IteratorResult<Uint8Array, void>,
  rest: AsyncGenerator<Uint8Array, void, void>,
): AsyncGenerator<Uint8Array, void, void> {
  if (first.done === true) return
  yield first.value
  yield* rest
}

function zxidIn(text: string, name: string): bigint {
  if (!/^0x[0-9a-f]{1,16}$/.test(text)) throw badRequest(`${name}: expected a zxid such as 0x1f`)
  return BigInt(text)
}
