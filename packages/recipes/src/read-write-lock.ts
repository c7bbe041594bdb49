import type { CallOptions, Client } from '@zabra/client'
import { checkPath } from '@zabra/client/internal'
import type { Held, HoldOptions } from './held.ts'
import type { AcquireOptions } from './lock.ts'
import { checkedOptions, takeTurn, tryTurn, type Line, type LockOptions } from './turn.ts'

/** Curator's and ours, kazoo's. */
export const readerMarks = ['__READ__', '__rlock__']
export const writerMarks = ['__WRIT__', '__lock__']

/**
 * Many readers at a time, or one writer, in the order of asking: a reader waits for the last
 * writer before it, a writer for whoever is before it. The layout is that of Curator's
 * InterProcessReadWriteLock; kazoo's read and write locks on the same path count as well.
 */
export class ReadWriteLock {
  private readonly client: Client
  private readonly options: LockOptions
  private readonly path: string

  constructor(client: Client, path: string, options: LockOptions = {}) {
    this.client = client.patient
    this.path = checkPath(path)
    this.options = checkedOptions(options)
  }

  read(options: AcquireOptions = {}): Promise<Held> {
    return this.take(readerLine(this.path), options)
  }

  write(options: AcquireOptions = {}): Promise<Held> {
    return this.take(writerLine(this.path), options)
  }

  /** Undefined where a writer holds the lock or waits for it. */
  tryRead(options: CallOptions & HoldOptions = {}): Promise<Held | undefined> {
    return this.tryTake(readerLine(this.path), options)
  }

  /** Undefined where anybody holds the lock or waits for it. */
  tryWrite(options: CallOptions & HoldOptions = {}): Promise<Held | undefined> {
    return this.tryTake(writerLine(this.path), options)
  }

  private take(line: Line, options: AcquireOptions): Promise<Held> {
    return takeTurn(this.client, line, this.options, options)
  }

  private tryTake(line: Line, options: CallOptions & HoldOptions): Promise<Held | undefined> {
    return tryTurn(this.client, line, this.options, options)
  }
}

export function readerLine(parent: string): Line {
  return {
    parent,
    name: '__READ__',
    marks: [...readerMarks, ...writerMarks],
    blockerOf: (ahead) => ahead.findLast(({ mark }) => writerMarks.includes(mark)),
  }
}

export function writerLine(parent: string): Line {
  return {
    parent,
    name: '__WRIT__',
    marks: [...readerMarks, ...writerMarks],
    blockerOf: (ahead) => ahead.at(-1),
  }
}
