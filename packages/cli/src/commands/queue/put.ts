import { PriorityQueue, Queue } from '@zabra/recipes'
import { bytes } from '@zabra/client'
import { defineCommand } from '../../framework/command.ts'
import { UsageError } from '../../framework/errors.ts'
import { cleanPath } from '../../node/paths.ts'
import { readAll } from '../../node/read-all.ts'

export const command = defineCommand({
  arguments: {
    path: { kind: 'path', help: 'of the queue; created if missing' },
    data: { kind: 'text', optional: true, help: 'the item; - or nothing reads stdin' },
  },
  options: {
    priority: { type: 'integer', help: '0 to 999, lowest first; makes it a priority queue' },
  },
  details:
    'The layout is that of kazoo: LockingQueue. An item stays until a consumer completes it.',
  examples: [
    [`zabra queue put /queues/mail '{"to":"ann"}'`, 'one item'],
    ['zabra queue put /queues/images < picture.png', 'the bytes from stdin'],
  ],
  async run({ args, options, out, io, connect, signal }) {
    const path = cleanPath(args.path)
    const { priority } = options
    if (priority !== undefined && (priority < 0 || priority > 999))
      throw new UsageError('--priority is from 0 to 999')
    const { data = '-' } = args
    const item = data === '-' ? await readAll(io.stdin) : Buffer.from(data)
    const client = await connect()
    if (priority === undefined)
      await new Queue(client, path, { codec: bytes }).put(item, { signal })
    else await new PriorityQueue(client, path, { codec: bytes }).put(item, priority, { signal })
    if (out.json) await out.data({ path, bytes: item.length })
  },
})
