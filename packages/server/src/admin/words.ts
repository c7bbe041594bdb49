import type { FourLetterWords } from '../net/client-listener.ts'
import type { ServerView } from '../server-view.ts'

export function makeWords(view: ServerView): FourLetterWords {
  return {
    isKnown: (word) => word === 'srvr' || word === 'ruok',
    start: (word, answer) => () =>
      answer(
        word === 'ruok'
          ? 'imok'
          : `Zookeeper version: 3.9.5-zabra, built on 2026-11-15 00:00 UTC\nMode: standalone\nZxid: 0x${view.peer.lastZxid.toString(16)}\n`,
      ),
  }
}
