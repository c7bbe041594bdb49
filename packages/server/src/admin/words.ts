import type { FourLetterWords } from '../net/client-listener.ts'
import type { ServerView } from '../view/server-view.ts'
import { hex } from './java-text.ts'
import { monitorLines } from './metrics/monitor.ts'
import { joinInSlices } from './slices.ts'
import { cons } from './words/connections.ts'
import { dump } from './words/dump.ts'
import { conf, dirs, envi } from './words/settings.ts'
import { srvr, stat } from './words/status.ts'
import { wchc, wchp, wchs } from './words/watches.ts'

/** What a word answers: text, or pieces of a text that may be long. */
type Answer = string | Iterable<string> | Promise<string>

const words: Readonly<Record<string, (view: ServerView) => Answer>> = {
  conf,
  cons,
  crst(view) {
    for (const { connection } of view.sockets) connection.resetStats()
    return 'Connection stats reset.\n'
  },
  dirs,
  dump,
  envi,
  gtmk: (view) => String(view.traceMask),
  hash,
  isro: ({ peer }) => (peer.isReadOnly ? 'ro' : peer.isServing ? 'rw' : 'null'),
  mntr: monitorLines,
  ruok: () => 'imok',
  srst(view) {
    view.peer.stats.reset()
    view.disk.slowSyncs = 0
    return 'Server stats reset.\n'
  },
  srvr,
  stat,
  wchc,
  wchp,
  wchs,
}

/** What says something even while this server looks for a leader. */
const alwaysAnswered: ReadonlySet<string> = new Set(['ruok', 'envi', 'gtmk', 'isro'])
export const notServing = 'This ZooKeeper instance is not currently serving requests'

const setTraceMask = 'stmk'
/** What telnet sends when it is interrupted. Known, so as to be refused rather than misread. */
const telnetInterrupt = '\xff\xf4\xff\xfd'
const maskBytes = 8

/** Commands in place of a handshake: `echo srvr | nc host 2181`. */
export function makeWords(view: ServerView): FourLetterWords {
  return {
    isKnown: (word) =>
      Object.hasOwn(words, word) || word === setTraceMask || word === telnetInterrupt,
    start(word, answer) {
      if (!isAllowed(word, view)) {
        const name = word === telnetInterrupt ? 'telnet close' : word
        return () => answer(`${name} is not executed because it is not in the whitelist.\n`)
      }
      if (word === setTraceMask) return readTraceMask(view, answer)
      const command = words[word]
      let isStarted = false
      return () => {
        // Bytes behind the word, a newline for example, mean nothing.
        if (isStarted) return
        isStarted = true
        if (!view.peer.isServing && !alwaysAnswered.has(word)) {
          answer(word === 'hash' ? notServing : `${notServing}\n`)
          return
        }
        void settle(command?.(view) ?? '').then(answer)
      }
    },
  }
}

function isAllowed(word: string, { config }: ServerView): boolean {
  const allowed = config.fourLetterWords
  return word === 'srvr' || allowed === 'all' || allowed.has(word)
}

async function settle(answer: Answer): Promise<string> {
  try {
    return typeof answer === 'string' || answer instanceof Promise
      ? await answer
      : await joinInSlices(answer)
  } catch (error) {
    return `${error instanceof Error ? error.message : String(error)}\n`
  }
}

/** The one word with an argument: eight bytes that may come later. */
function readTraceMask(
  view: ServerView,
  answer: (reply: string) => void,
): (bytes: Uint8Array) => void {
  let received = Buffer.alloc(0)
  return (bytes) => {
    received = Buffer.concat([received, bytes])
    if (received.length < maskBytes) return
    view.traceMask = received.readBigInt64BE(0)
    answer(String(view.traceMask))
  }
}

function* hash(view: ServerView): IterableIterator<string> {
  for (const { zxid, digest } of view.peer.db.digestLog)
    yield `${hex(zxid)}: ${BigInt.asIntN(64, digest)}\n`
}
