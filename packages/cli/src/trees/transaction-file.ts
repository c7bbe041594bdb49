import { noData, type Transaction } from '@zabra/client'
import { CommandError } from '../framework/errors.ts'
import { exitCodes } from '../framework/exit-codes.ts'
import { parseAclList } from '../node/acl-text.ts'
import { tokenize } from '../shell/tokenize.ts'

/** An operation of a transaction. */
export interface Operation {
  readonly type: 'check' | 'create' | 'set' | 'delete'
  readonly path: string
  add(transaction: Transaction<readonly unknown[]>): void
}

interface Words {
  readonly flags: ReadonlyMap<string, string>
  readonly args: readonly string[]
}

/** Reads operations, one a line; throws with the number of the line. */
export function parseTransaction(text: string, file: string): Operation[] {
  const operations: Operation[] = []
  for (const [index, line] of text.split('\n').entries()) {
    if (/^\s*(#|$)/.test(line)) continue
    try {
      operations.push(parseOperation(tokenize(line)))
    } catch (error) {
      throw new CommandError(
        `${file === '-' ? 'stdin' : file}:${index + 1}: ${(error as Error).message}`,
        {
          code: 'file',
          exitCode: exitCodes.usage,
          hint: '`zabra help txn` shows the operations',
          cause: error,
        },
      )
    }
  }
  if (operations.length === 0)
    throw new CommandError(`${file === '-' ? 'stdin' : file} has no operations`, {
      code: 'file',
      exitCode: exitCodes.usage,
    })
  return operations
}

function parseOperation(words: readonly string[]): Operation {
  const [type = '', ...rest] = words
  switch (type) {
    case 'check': {
      const { args } = split(rest, '', '')
      const [path, version] = atMost(args, 2)
      const wanted = version === undefined ? 'any' : integer(version)
      return { type, path, add: (transaction) => void transaction.check(path, wanted) }
    }
    case 'create': {
      const { flags, args } = split(rest, 'sc', 't')
      const [path, data, acl] = atMost(args, 3)
      const ttl = flags.get('t')
      const options = {
        sequential: flags.has('s'),
        container: flags.has('c'),
        ...(ttl === undefined ? {} : { ttlMs: integer(ttl) }),
        ...(acl === undefined ? {} : { acl: parseAclList(acl) }),
      }
      return {
        type,
        path,
        add: (transaction) => void transaction.create(path, data ?? noData, options),
      }
    }
    case 'set': {
      const { flags, args } = split(rest, '', 'v')
      const [path, data] = atMost(args, 2)
      if (data === undefined) throw new Error('set needs a path and data')
      return {
        type,
        path,
        add: (transaction) => void transaction.set(path, data, versionIn(flags)),
      }
    }
    case 'delete': {
      const { flags, args } = split(rest, '', 'v')
      const [path] = atMost(args, 1)
      return { type, path, add: (transaction) => void transaction.delete(path, versionIn(flags)) }
    }
    default:
      throw new Error(`'${type}' is no operation; check, create, set and delete are`)
  }
}

function split(words: readonly string[], alone: string, valued: string): Words {
  const flags = new Map<string, string>()
  const args: string[] = []
  for (let i = 0; i < words.length; i++) {
    const word = words[i]!
    const letter = word.slice(1)
    if (word.length !== 2 || !word.startsWith('-')) args.push(word)
    else if (alone.includes(letter)) flags.set(letter, '')
    else if (valued.includes(letter)) {
      const value = words[++i]
      if (value === undefined) throw new Error(`${word} needs a value`)
      flags.set(letter, value)
    } else throw new Error(`unknown flag ${word}`)
  }
  return { flags, args }
}

function atMost(args: readonly string[], count: number): [string, ...(string | undefined)[]] {
  const [path, ...rest] = args
  if (path === undefined) throw new Error('a path is missing')
  if (!path.startsWith('/')) throw new Error(`a path starts with /, unlike '${path}'`)
  if (args.length > count) throw new Error(`one word too many: '${args[count]}'`)
  return [path, ...rest]
}

function versionIn(flags: ReadonlyMap<string, string>): { readonly ifVersion?: number } {
  const version = flags.get('v')
  return version === undefined ? {} : { ifVersion: integer(version) }
}

function integer(text: string): number {
  if (!/^\d+$/.test(text)) throw new Error(`'${text}' is no whole number`)
  return Number(text)
}
