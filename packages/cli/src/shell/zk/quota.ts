import {
  changeQuota,
  deleteQuota,
  formatLimits,
  readQuota,
  QuotaError,
  limitsPath,
} from '../../node/quota.ts'
import type { Limits } from '../../node/quota.ts'
import { ZkError, ZkUsageError, type ZkCommand } from './zk-command.ts'

const fields = {
  n: 'count',
  b: 'bytes',
  N: 'countHardLimit',
  B: 'byteHardLimit',
} as const satisfies Record<string, keyof Limits>
const letters = ['n', 'b', 'N', 'B'] as const

export const listquota: ZkCommand = {
  usage: 'path',
  summary: 'Print the quota of a node, and what is used of it',
  examples: ['listquota /app'],
  argsMin: 1,
  async run({ session, args }) {
    const [path = ''] = args
    session.complain(`absolute path is ${limitsPath(path)}`)
    const quota = await readQuota(session.client, path)
    if (quota === undefined) return session.complain(`quota for ${path} does not exist.`)
    session.out.line(`Output quota for ${path} ${formatLimits(quota.limits)}`)
    session.out.line(`Output stat for ${path} count=${quota.used.count},bytes=${quota.used.bytes}`)
  },
}

export const setquota: ZkCommand = {
  usage: '-n|-b|-N|-B val path',
  summary: 'Limit the nodes (-n) or bytes (-b) below a node; -N and -B refuse what exceeds them',
  examples: ['setquota -n 1000 /app', 'setquota -B 10000000 /app'],
  flags: { n: 'value', b: 'value', N: 'value', B: 'value' },
  argsMin: 1,
  async run({ session, flags, args }) {
    const [path = ''] = args
    const chosen = letters.filter((one) => flags.has(one))
    if (chosen.length === 0)
      throw new ZkUsageError(
        'Missing required option: [-n num soft quota, -b bytes soft quota, -N num hard quota, -B bytes hard quota]',
      )
    const change = Object.fromEntries(
      chosen.map((letter) => [fields[letter], limitOf(letter, flags.get(letter)!)]),
    )
    try {
      const { limits, used } = await changeQuota(session.client, path, change)
      const warn = (what: string, existing: number): void =>
        session.out.line(
          `[Warning]: the ${what} quota you create is less than the existing ${what}:${existing}`,
        )
      if (isBelow(used.count, limits.count, limits.countHardLimit)) warn('count', used.count)
      if (isBelow(used.bytes, limits.bytes, limits.byteHardLimit)) warn('bytes', used.bytes)
    } catch (error) {
      throw asZkError(error)
    }
  },
}

export const delquota: ZkCommand = {
  usage: '[-n|-b|-N|-B] path',
  summary: 'Take a quota away, or one limit of it',
  examples: ['delquota /app', 'delquota -n /app'],
  flags: { n: 'flag', b: 'flag', N: 'flag', B: 'flag' },
  argsMin: 1,
  async run({ session, flags, args }) {
    const [path = ''] = args
    const chosen = letters.filter((one) => flags.has(one)).map((letter) => fields[letter])
    const existed = await deleteQuota(session.client, path, chosen)
    if (!existed) session.out.line(`Quota does not exist for ${path}`)
  },
}

function asZkError(error: unknown): unknown {
  return error instanceof QuotaError ? new ZkError(error.message) : error
}

function limitOf(letter: 'n' | 'b' | 'N' | 'B', text: string): number {
  if (!/^[+-]?\d+$/.test(text))
    throw new ZkUsageError('NumberFormatException happens when parsing the option value')
  const value = Number(text)
  const isCount = letter === 'n' || letter === 'N'
  if (isCount && value <= 0) throw new ZkUsageError('the num quota must be greater than zero')
  if (!isCount && value < 0)
    throw new ZkUsageError('the bytes quota must be greater than or equal to zero')
  return value
}

/** -1 is no limit. */
function isBelow(existing: number, ...limits: readonly number[]): boolean {
  return limits.some((limit) => limit !== -1 && limit < existing)
}
