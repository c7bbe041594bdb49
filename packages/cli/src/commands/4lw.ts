import { defineCommand } from '../framework/command.ts'
import { UsageError } from '../framework/errors.ts'
import { addressesOf, addressText, parseAddress } from '../ensemble/address.ts'
import { askOptions } from '../ensemble/ask-options.ts'
import { askWord } from '../ensemble/four-letter.ts'

const words = [
  'conf',
  'cons',
  'crst',
  'dirs',
  'dump',
  'envi',
  'gtmk',
  'hash',
  'isro',
  'mntr',
  'ruok',
  'srst',
  'srvr',
  'stat',
  'wchc',
  'wchp',
  'wchs',
] as const

export const command = defineCommand({
  arguments: {
    word: { kind: words, help: 'a four-letter word' },
    server: {
      kind: 'text',
      optional: true,
      help: 'HOST:PORT; the first server of the connection string',
    },
  },
  options: { all: { type: 'flag', help: 'ask every server of the connection string' } },
  examples: [
    ['zabra 4lw srvr', 'the state of a server'],
    ['zabra 4lw mntr 10.0.0.2:2181', 'every metric of that server'],
    ['zabra 4lw ruok --all', 'whether the servers listen'],
  ],
  async run({ args, options, out, settings, signal }) {
    const { word } = args
    if (!/^[a-z]{4}$/.test(word))
      throw new UsageError(`'${word}' is not a four-letter word`, words.join(' '))
    const found = settings()
    const named = addressesOf(found.servers)
    const servers =
      args.server !== undefined
        ? [parseAddress(args.server)]
        : options.all === true
          ? named
          : named.slice(0, 1)
    const asking = await askOptions(found, signal)
    const answers = []
    for (const server of servers) {
      const text = await askWord(server, word, asking)
      answers.push({ server: addressText(server), text })
    }
    if (out.json) return out.data({ word, answers })
    for (const { server, text } of answers) {
      if (answers.length > 1) out.line(out.style.bold(server))
      out.write(text.endsWith('\n') ? text : `${text}\n`)
    }
  },
})
