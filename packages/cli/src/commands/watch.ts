import { noData, type Change, type Client } from '@zabra/client'
import { defineCommand } from '../framework/command.ts'
import type { Invocation } from '../framework/invocation.ts'
import { Program } from '../holding/program.ts'
import { dataJson } from '../node/data.ts'
import { cleanPath } from '../node/paths.ts'
import { hex } from '../node/stat.ts'

export const command = defineCommand({
  arguments: { path: { kind: 'path' } },
  options: {
    recursive: { type: 'flag', short: 'R', help: 'the node and everything below it' },
    initial: { type: 'flag', help: 'start with the existing nodes' },
    data: { type: 'flag', help: 'also print the data of created and changed nodes' },
    count: { type: 'integer', min: 1, short: 'n', help: 'stop after this many changes' },
    stopOnFailure: { type: 'flag', help: 'stop with the exit code of a failing program' },
  },
  program: 'optional',
  details: `Prints a line for each change, and continues across lost connections and sessions. MISSED marks a node that may have
changed more than once. A given program runs once for each change, one after the other, with ZABRA_WATCH_TYPE (created,
changed, deleted, children, initial), ZABRA_WATCH_PATH, ZABRA_WATCH_ZXID and, if known, ZABRA_WATCH_DATA. Changes of one node that arrive while the program runs are merged, so a slow
program always sees the last state.`,
  examples: [
    ['zabra watch /config', 'a line for each change of /config and of its children'],
    ['zabra watch -R /config --json', 'everything below, as JSON lines'],
    [`zabra watch /config -- sh -c 'reload "$ZABRA_WATCH_PATH"'`, 'a program for each change'],
  ],
  async run(invocation) {
    const { args, options, program, out, connect, signal } = invocation
    const path = cleanPath(args.path)
    const client = await connect({ isLasting: true })
    const { recursive = false, initial = false, count = Infinity } = options
    const withData = options.data === true || program.length > 0
    let seen = 0
    for await (const change of client.watch(path, { recursive, initial, signal, renew: true })) {
      await out.drained()
      const data = withData && hasData(change) ? await dataOf(client, change.path) : undefined
      if (program.length > 0) {
        const code = await runFor(invocation, change, data)
        if (code !== 0 && options.stopOnFailure === true) return code
      } else if (out.json) {
        out.dataLine(changeJson(change, data))
      } else {
        const mark = change.missed ? ' MISSED' : ''
        const shown = data === undefined ? '' : ` ${JSON.stringify(Buffer.from(data).toString())}`
        out.line(`${change.type} ${change.path}${mark}${shown}`)
      }
      if (++seen >= count) break
    }
    return 0
  },
})

const hasData = ({ type }: Change): boolean =>
  type === 'created' || type === 'changed' || type === 'initial'

/** Undefined where the node has gone meanwhile, or may not be read. */
async function dataOf(client: Client, path: string): Promise<Uint8Array | undefined> {
  return client.get(path).then(
    ({ data }) => data,
    () => undefined,
  )
}

function changeJson(change: Change, data: Uint8Array | undefined): object {
  const { type, path, zxid, missed } = change
  return {
    type,
    path,
    zxid: zxid === undefined ? null : hex(zxid),
    missed,
    ...(data === undefined ? {} : dataJson(data === noData ? null : data)),
  }
}

/** The environment of a program holds no zero bytes, and not endlessly much. */
const environmentBytesMax = 100_000

function runFor(
  { program, io, signal, handOver }: Invocation,
  { type, path, zxid }: Change,
  data: Uint8Array | undefined,
): Promise<number> {
  const isShown = data !== undefined && data.length <= environmentBytesMax && !data.includes(0)
  return handOver(async () => {
    const running = new Program(program, io, {
      ZABRA_WATCH_TYPE: type,
      ZABRA_WATCH_PATH: path,
      ZABRA_WATCH_ZXID: zxid === undefined ? '' : hex(zxid),
      ...(isShown ? { ZABRA_WATCH_DATA: Buffer.from(data).toString() } : {}),
    })
    const interrupt = (): void => running.signal('SIGTERM')
    signal.addEventListener('abort', interrupt)
    try {
      return await running.ended
    } finally {
      signal.removeEventListener('abort', interrupt)
    }
  })
}
