import { defineCommand } from '../framework/command.ts'
import { exitCodes } from '../framework/exit-codes.ts'
import { textOf } from '../node/data.ts'
import { visible } from '../output/visible.ts'
import { regexOf } from '../node/patterns.ts'
import { cleanPath } from '../node/paths.ts'
import { walk } from '../node/walk.ts'

export const command = defineCommand({
  arguments: {
    pattern: { kind: 'text', help: 'a regular expression' },
    path: { kind: 'path', optional: true, help: '/ by default' },
  },
  options: {
    ignoreCase: { type: 'flag', short: 'i', help: 'ignore upper and lower case' },
    fixed: { type: 'flag', short: 'F', help: 'treat the pattern as plain text' },
    pathsOnly: { type: 'flag', short: 'l', help: 'print paths, not lines' },
    depth: { type: 'integer', short: 'd', value: 'N', help: 'maximum number of levels' },
  },
  details:
    'Searches the data of a node and everything below it, line by line. Exit code 1 means no match.',
  examples: [
    ["zabra grep 'host-1[0-9]' /services", 'lines with their paths'],
    ['zabra grep -il password /', 'nodes that mention passwords'],
  ],
  async run({ args, options, out, signal, connect }) {
    const top = cleanPath(args.path ?? '/')
    const source =
      options.fixed === true
        ? args.pattern.replaceAll(/[$()*+.?[\\\]^{|}]/g, String.raw`\$&`)
        : args.pattern
    const pattern = regexOf(source, options.ignoreCase === true ? 'gi' : 'g')
    const shown = out.isTerminal ? visible : (part: string): string => part
    const marked = (line: string): string => {
      let result = ''
      let end = 0
      for (const match of line.matchAll(pattern)) {
        result += shown(line.slice(end, match.index)) + out.style.red(shown(match[0]))
        end = match.index + match[0].length
      }
      return result + shown(line.slice(end))
    }
    const client = await connect()
    const progress = out.progress('reading')
    const matches: { path: string; line: number; text: string }[] = []
    let count = 0
    for await (const { path, data } of walk(client, top, {
      signal,
      depthMax: options.depth,
      data: true,
    })) {
      progress.add()
      await out.drained()
      if (data === undefined) continue
      // Bytes that are no text are searched as Latin-1, and reported without them.
      const text = textOf(data)
      const lines = (text ?? Buffer.from(data).toString('latin1')).split('\n')
      const found = lines.flatMap((line, index) =>
        line.search(pattern) >= 0 ? [{ line, index }] : [],
      )
      if (found.length === 0) continue
      count += found.length
      if (out.json)
        matches.push(...found.map(({ line, index }) => ({ path, line: index + 1, text: line })))
      else if (options.pathsOnly === true) out.line(path)
      else if (text === undefined) out.line(`${out.style.magenta(path)}: binary data match`)
      else for (const { line } of found) out.line(`${out.style.magenta(path)}:${marked(line)}`)
    }
    progress.end()
    if (out.json) await out.data({ path: top, matches })
    return count > 0 ? exitCodes.ok : exitCodes.no
  },
})
