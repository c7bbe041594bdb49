import { bytes } from '@zabra/client'
import { Queue } from '@zabra/recipes'
import { defineCommand } from '../../framework/command.ts'
import { cleanPath } from '../../node/paths.ts'

export const command = defineCommand({
  arguments: { path: { kind: 'path' } },
  details: 'Includes items that a consumer is processing.',
  examples: [['zabra queue size /queues/mail', 'the number of items']],
  async run({ args, out, connect, signal }) {
    const path = cleanPath(args.path)
    const size = await new Queue(await connect(), path, { codec: bytes }).size({ signal })
    if (out.json) await out.data({ path, size })
    else out.line(String(size))
  },
})
