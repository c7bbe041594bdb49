import type { FourLetterWords } from '../net/client-listener.ts'
import type { ServerView } from '../view/server-view.ts'
import { hexDigits } from './java-text.ts'
import { monitorLines } from './metrics/monitor.ts'
import { joinInSlices } from './slices.ts'
import { cons } from './words/connections.ts'
import { dump } from './words/dump.ts'
import { conf, dirs, envi } from './words/settings.ts'
import { srvr, stat } from './words/status.ts'
import { wchc, wchp, wchs } from './words/watches.ts'

/** The answer to a word: a text, or the pieces of a long text. */
type Answer = string | Iterable<string> | Promise<string>

interface Word {
  answer(view: ServerView, argument: Buffer): Answer
  /** Number of argument bytes that the word waits for. */
  readonly argumentBytes?: number
  /** Answers even while this server looks for a leader. */
  readonly isAlwaysAnswered?: boolean
  /** The answer while this server does not serve, if not the usual line. */
  readonly notServing?: string
  /** The name in a refusal, if not the word itself. */
  readonly label?: string
}

export const notServing = 'This ZooKeeper instance is not currently serving requests'

const words: ReadonlyMap<string, Word> = new Map<string, Word>([
  ['conf', { answer: conf }],
  ['cons', { answer: cons }],
  ['crst', { answer: resetConnections }],
  ['dirs', { answer: dirs }],
  ['dump', { answer: dump }],
  ['envi', { answer: envi, isAlwaysAnswered: true }],
  ['gtmk', { answer: (view) => String(view.traceMask), isAlwaysAnswered: true }],
  ['hash', { answer: hash, notServing }],
  ['isro', { answer: readOnlyState, isAlwaysAnswered: true }],
  ['mntr', { answer: monitorLines }],
  ['ruok', { answer: () => 'imok', isAlwaysAnswered: true }],
  ['srst', { answer: resetStats }],
  ['srvr', { answer: srvr }],
  ['stat', { answer: stat }],
  ['stmk', { answer: setTraceMask, argumentBytes: 8, isAlwaysAnswered: true }],
  ['wchc', { answer: wchc }],
  ['wchp', { answer: wchp }],
  ['wchs', { answer: wchs }],
  // An interrupted telnet sends this. Listing it here makes the server refuse it instead of
  // misreading it.
  ['\xff\xf4\xff\xfd', { answer: () => '', label: 'telnet close' }],
])

/** Commands in place of a handshake: `echo srvr | nc host 2181`. */
export function makeWords(view: () => ServerView): FourLetterWords {
  return {
    isKnown: (word) => words.has(word),
    start(name, send) {
      const word = words.get(name)
      if (word === undefined || !isAllowed(name, view())) {
        const label = word?.label ?? name
        return () => send(`${label} is not executed because it is not in the whitelist.\n`)
      }
      const { argumentBytes = 0 } = word
      let isStarted = false
      let argument = Buffer.alloc(0)
      return (bytes) => {
        // Bytes after the argument, such as a newline, are ignored.
        if (isStarted) return
        argument = Buffer.concat([argument, bytes])
        if (argument.length < argumentBytes) return
        isStarted = true
        void answerOf(word, view(), argument).then(send)
      }
    },
  }
}

function isAllowed(word: string, { config }: ServerView): boolean {
  const allowed = config.fourLetterWords
  return word === 'srvr' || allowed === 'all' || allowed.has(word)
}

async function answerOf(word: Word, view: ServerView, argument: Buffer): Promise<string> {
  if (!view.peer.isServing && word.isAlwaysAnswered !== true) {
    return word.notServing ?? `${notServing}\n`
  }
  try {
    const answer = word.answer(view, argument)
    return typeof answer === 'string' || answer instanceof Promise
      ? await answer
      : await joinInSlices(answer)
  } catch (error) {
    return `${error instanceof Error ? error.message : String(error)}\n`
  }
}

function resetConnections(view: ServerView): string {
  for (const { connection } of view.sockets) connection.resetStats()
  return 'Connection stats reset.\n'
}

function resetStats(view: ServerView): string {
  view.peer.stats.reset()
  view.disk.slowSyncs = 0
  return 'Server stats reset.\n'
}

function readOnlyState({ peer }: ServerView): string {
  return peer.isReadOnly ? 'ro' : peer.isServing ? 'rw' : 'null'
}

function setTraceMask(view: ServerView, argument: Buffer): string {
  view.traceMask = argument.readBigInt64BE(0)
  return String(view.traceMask)
}

function* hash(view: ServerView): IterableIterator<string> {
  for (const { zxid, digest } of view.peer.db.digests.log)
    yield `${hexDigits(zxid)}: ${BigInt.asIntN(64, digest)}\n`
}
