import { childPaths, complete } from '../completion/complete.ts'
import { commands } from '../table/index.ts'
import type { ShellSession } from './session.ts'
import { lastWord, quoted, tokenize } from './tokenize.ts'
import { zkCommands } from './zk/index.ts'

/** Candidates for the last word of a line, and the part of the line that they replace. */
export async function completeLine(
  session: ShellSession,
  line: string,
  env: Readonly<Record<string, string | undefined>>,
): Promise<[string[], string]> {
  const { start, word } = lastWord(line)
  const before = tokenize(line.slice(0, start))
  const typed = line.slice(start)
  const found = await candidates(session, before, word, env)
  return [
    found.map((one) => (one.endsWith(' ') ? `${quoted(one.slice(0, -1))} ` : quoted(one))),
    typed,
  ]
}

async function candidates(
  session: ShellSession,
  before: readonly string[],
  word: string,
  env: Readonly<Record<string, string | undefined>>,
): Promise<string[]> {
  const [name] = before
  if (name === undefined || (name === 'help' && before.length === 1)) {
    const shown = Object.entries(commands).filter(([, { isHidden }]) => isHidden !== true)
    const names = new Set([...Object.keys(zkCommands), ...shown.map(([one]) => one), 'help'])
    return [...names]
      .filter((one) => one.startsWith(word))
      .toSorted()
      .map((one) => `${one} `)
  }
  const client = session.clientIfAny
  const zk = Object.hasOwn(zkCommands, name) ? zkCommands[name] : undefined
  const isLong = word.startsWith('--') || before.some((one) => /^--[a-z]/.test(one))
  if (zk !== undefined && !(isLong && Object.hasOwn(commands, name))) {
    if (word.startsWith('-'))
      return Object.keys(zk.flags ?? {})
        .map((flag) => `-${flag} `)
        .filter((flag) => flag.startsWith(word))
    if (client === undefined || !(word === '' || word.startsWith('/')) || !takesPath(zk.usage))
      return []
    return (await childPaths(client, word)).map((one) => one.word)
  }
  const { mode, candidates: found } = await complete(commands, [...before, word], { env, client })
  return found.map((one) => (mode === 'path' ? one.word : `${one.word} `))
}

function takesPath(usage: string): boolean {
  return /\bpath\b/.test(usage)
}
