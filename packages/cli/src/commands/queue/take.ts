import { bytes, TimeoutError } from '@zabra/client'
import { PriorityQueue, Queue } from '@zabra/recipes'
import { defineCommand } from '../../framework/command.ts'
import { exitCodes } from '../../framework/exit-codes.ts'
import { checkGrace, codeOf, defaultGraceMs, runHolding } from '../../holding/run-holding.ts'
import { dataJson } from '../../node/data.ts'
import { cleanPath } from '../../node/paths.ts'

export const command = defineCommand({
  arguments: { path: { kind: 'path' } },
  options: {
    wait: { type: 'duration', help: 'give up if there is no item in this time; 0 does not wait' },
    byPriority: { type: 'flag', help: 'take the lowest priority first; all consumers must agree' },
    raw: { type: 'flag', help: 'print the bytes unchanged, without a line feed at the end' },
    grace: {
      type: 'duration',
      help: 'time for the program to stop before another consumer may get the item (5s)',
    },
  },
  program: 'optional',
  details: `Without a program, prints the item and removes it from the queue. With a program, the item is in the environment
variable ZABRA_QUEUE_ITEM (if it is text without zero bytes), and is removed when the program succeeds. If the
program fails, the item goes back and is handed out again. Exit code 1 means that there is no item.`,
  examples: [
    ['zabra queue take /queues/mail --wait 0', 'the next item, if there is one'],
    [
      `zabra queue take /queues/mail -- sh -c 'send "$ZABRA_QUEUE_ITEM"'`,
      'stays in the queue unless it was sent',
    ],
  ],
  async run(invocation) {
    const { args, options, program, out, connect, signal } = invocation
    const path = cleanPath(args.path)
    const { grace: graceMs = defaultGraceMs, wait } = options
    const client = await connect({ isLasting: true })
    const settings = { codec: bytes, lostOn: 'expired' } as const
    const queue =
      options.byPriority === true
        ? new PriorityQueue(client, path, settings)
        : new Queue(client, path, settings)
    const limit = wait === undefined ? {} : { timeoutMs: wait }
    const item = await (wait === 0
      ? queue.tryTake({ signal })
      : queue.take({ ...limit, signal }).catch((error: unknown) => {
          if (error instanceof TimeoutError && wait !== undefined) return undefined
          throw error
        }))
    try {
      if (item === undefined) {
        if (out.json) await out.data({ path, item: null })
        return exitCodes.no
      }
      if (program.length === 0) {
        await item.complete({ signal })
        if (out.json) await out.data({ path, item: dataJson(item.data) })
        else {
          out.write(item.data)
          if (options.raw !== true) out.line()
        }
        return exitCodes.ok
      }
      checkGrace(graceMs, client)
      const what = `the item ${item.entryPath}`
      const text = Buffer.from(item.data).toString()
      const env = {
        ZABRA_QUEUE_PATH: path,
        ZABRA_QUEUE_TOKEN: String(item.token),
        ...(text.includes('\0') ? {} : { ZABRA_QUEUE_ITEM: text }),
      }
      const ending = await runHolding(invocation, { what, held: item, client, env, graceMs })
      const code = codeOf(ending, what)
      if (code === 0) await item.complete()
      return code
    } finally {
      await item?.release().catch(() => {})
      await queue.close().catch(() => {})
    }
  },
})
