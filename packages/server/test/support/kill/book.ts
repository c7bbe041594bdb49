/**
 * The expected content of one writer's subtree. Steps are planned against a book, so whether a step
 * succeeds or is refused is known before it is sent.
 */
export interface Entry {
  readonly data: string
  readonly version: number
  readonly isEphemeral: boolean
  /** Undefined if the reply was lost: then only the server knows it. */
  readonly czxid: bigint | undefined
  readonly mzxid: bigint | undefined
}

export type Step =
  | { readonly kind: 'create'; readonly name: string; readonly data: string; readonly how: How }
  | {
      readonly kind: 'setData'
      readonly name: string
      readonly data: string
      /** The required version; undefined for any. */
      readonly version?: number
    }
  | { readonly kind: 'delete'; readonly name: string }
  | { readonly kind: 'multi'; readonly steps: readonly Step[] }
  /** A multi whose last part is refused: none of it may take effect. */
  | { readonly kind: 'refusedMulti'; readonly name: string; readonly data: string }
  /** A sequential node next to those of all other writers; its data names its writer. */
  | { readonly kind: 'shared'; readonly data: string }

export type How = 'plain' | 'sequential' | 'ephemeral'

export class Book {
  readonly entries: Map<string, Entry>
  /** How many children were ever created: the next sequence number. */
  creates: number

  constructor(entries: Iterable<readonly [string, Entry]> = [], creates = 0) {
    this.entries = new Map(entries)
    this.creates = creates
  }

  copy(): Book {
    return new Book(this.entries, this.creates)
  }

  /** The name that the next sequential node will get. */
  sequentialName(): string {
    return `q-${String(this.creates).padStart(10, '0')}`
  }

  apply(step: Step, zxid?: bigint): void {
    switch (step.kind) {
      case 'create':
        this.creates++
        this.entries.set(step.name, {
          data: step.data,
          version: 0,
          isEphemeral: step.how === 'ephemeral',
          czxid: zxid,
          mzxid: zxid,
        })
        return
      case 'setData': {
        const entry = this.entries.get(step.name)!
        const { data } = step
        this.entries.set(step.name, { ...entry, data, version: entry.version + 1, mzxid: zxid })
        return
      }
      case 'delete':
        this.entries.delete(step.name)
        return
      case 'multi':
        for (const part of step.steps) this.apply(part, zxid)
        return
      case 'refusedMulti':
      case 'shared':
    }
  }

  /** Removes the ephemerals when the session has ended. */
  dropEphemerals(): string[] {
    const names = [...this.entries].filter(([, { isEphemeral }]) => isEphemeral).map(([n]) => n)
    for (const name of names) this.entries.delete(name)
    return names
  }

  /** The first difference from what a server shows, in words. */
  differenceFrom(found: Found): string | undefined {
    if (found.creates !== this.creates) {
      return `${found.creates} children were ever created, where ${this.creates} should have been`
    }
    for (const [name, entry] of this.entries) {
      const node = found.nodes.get(name)
      if (node === undefined) return `${name} is missing`
      for (const field of ['data', 'version', 'czxid', 'mzxid'] as const) {
        if (entry[field] !== undefined && entry[field] !== node[field]) {
          return `${name} has ${field} ${node[field]}, where ${entry[field]} is expected`
        }
      }
    }
    for (const name of found.nodes.keys()) {
      if (!this.entries.has(name)) return `${name} should not be there`
    }
    return undefined
  }

  /** Copies from the server what only it knows: the zxids of writes whose replies were lost. */
  learn(found: Found): void {
    for (const [name, entry] of this.entries) {
      const { czxid, mzxid } = found.nodes.get(name) ?? entry
      this.entries.set(name, { ...entry, czxid, mzxid })
    }
  }
}

export interface FoundNode {
  readonly data: string
  readonly version: number
  readonly czxid: bigint
  readonly mzxid: bigint
}

/** A subtree as a server shows it. */
export interface Found {
  readonly nodes: ReadonlyMap<string, FoundNode>
  readonly creates: number
}
