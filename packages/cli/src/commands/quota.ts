import { defineCommand } from '../framework/command.ts'
import { CommandError, UsageError } from '../framework/errors.ts'
import { exitCodes } from '../framework/exit-codes.ts'
import { cleanPath } from '../node/paths.ts'
import {
  allQuotas,
  changeQuota,
  deleteQuota,
  QuotaError,
  readQuota,
  type Limits,
  type Quota,
} from '../node/quota.ts'

export const command = defineCommand({
  arguments: { path: { kind: 'path', optional: true, help: 'all quotas if omitted' } },
  options: {
    count: { type: 'integer', value: 'N', help: 'soft limit of nodes; exceeding it is logged' },
    bytes: { type: 'size', value: 'SIZE', help: 'soft limit of bytes; exceeding it is logged' },
    hardCount: {
      type: 'integer',
      value: 'N',
      help: 'hard limit of nodes; exceeding it is refused',
    },
    hardBytes: {
      type: 'size',
      value: 'SIZE',
      help: 'hard limit of bytes; exceeding it is refused',
    },
    delete: { type: 'flag', help: 'remove the quota' },
  },
  details: 'Servers enforce hard limits only with enforceQuota=true. Quotas do not nest.',
  examples: [
    ['zabra quota', 'all quotas and their usage'],
    ['zabra quota /app --hard-count 10000 --bytes 50m', 'set limits'],
    ['zabra quota /app --delete', 'remove the limits'],
  ],
  async run({ args, options, out, connect }) {
    const { count, bytes, hardCount, hardBytes } = options
    const change: Partial<Limits> = {
      ...(count === undefined ? {} : { count }),
      ...(bytes === undefined ? {} : { bytes }),
      ...(hardCount === undefined ? {} : { countHardLimit: hardCount }),
      ...(hardBytes === undefined ? {} : { byteHardLimit: hardBytes }),
    }
    const isChange = Object.keys(change).length > 0
    if (Object.values(change).some((limit) => limit < 1))
      throw new UsageError('limits are numbers from 1 on', '--delete takes a quota away')
    const path = args.path === undefined ? undefined : cleanPath(args.path)
    if (path === undefined && (isChange || options.delete === true))
      throw new UsageError('PATH is missing')
    const client = await connect()
    if (path === undefined) return show(await allQuotas(client))
    if (options.delete === true) {
      const existed = await deleteQuota(client, path, [])
      if (!existed) throw noQuota(path)
      if (out.json) await out.data({ quotas: [] })
      return
    }
    if (isChange) {
      try {
        return await show([await changeQuota(client, path, change)])
      } catch (error) {
        if (error instanceof QuotaError) throw new CommandError(error.message)
        throw error
      }
    }
    const quota = await readQuota(client, path)
    if (quota === undefined) throw noQuota(path)
    return show([quota])

    function show(quotas: readonly Quota[]): Promise<void> | void {
      const shown = (limit: number): number | undefined => (limit === -1 ? undefined : limit)
      if (out.json)
        return out.data({
          quotas: quotas.map(({ path: at, limits, used }) => ({
            path: at,
            count: shown(limits.count) ?? null,
            bytes: shown(limits.bytes) ?? null,
            hardCount: shown(limits.countHardLimit) ?? null,
            hardBytes: shown(limits.byteHardLimit) ?? null,
            usedCount: used.count,
            usedBytes: used.bytes,
          })),
        })
      if (quotas.length === 0) return out.note('no quotas; `zabra quota PATH --count N` sets one')
      out.table(
        ['NODES', 'LIMIT', 'HARD', 'BYTES', 'LIMIT', 'HARD', 'PATH'],
        quotas.map(({ path: at, limits, used }) => [
          used.count,
          shown(limits.count),
          shown(limits.countHardLimit),
          used.bytes,
          shown(limits.bytes),
          shown(limits.byteHardLimit),
          at,
        ]),
      )
    }
  },
})

function noQuota(path: string): CommandError {
  return new CommandError(`${path} has no quota`, {
    code: 'noQuota',
    exitCode: exitCodes.notFound,
    hint: `\`zabra quota ${path} --count N\` sets one`,
  })
}
