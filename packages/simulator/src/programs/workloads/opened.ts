import { ClosedError, type Client } from '@zabra/client'
import type { Stage } from '../stage.ts'
import type { Actor } from '../workload.ts'

interface Entry<T> {
  readonly client: Client
  /** Undefined until it is open. */
  readonly opened: T | undefined
}

/** The followers that each program has opened, by the program's name. */
export class Opened<T> {
  private readonly stage: Stage
  private readonly what: string
  private readonly byName = new Map<string, Entry<T>>()

  constructor(stage: Stage, what: string) {
    this.stage = stage
    this.what = what
  }

  /**
   * Opens it for this client, until the client ends; replaces what an earlier client of the program
   * had opened.
   */
  open({ client, name, process }: Actor, opening: Promise<T>, then?: (opened: T) => void): void {
    this.byName.set(name, { client, opened: undefined })
    client.onState((state) => {
      if (state.name === 'closed' && this.byName.get(name)?.client === client)
        this.byName.delete(name)
    })
    opening.then(
      (opened) => {
        if (!process.isAlive || client.state.name === 'closed') return
        this.byName.set(name, { client, opened })
        then?.(opened)
      },
      (error: unknown) => {
        if (!(error instanceof ClosedError) && client.state.name !== 'closed')
          this.stage.violate(`${name} cannot follow ${this.what}: ${String(error)}`)
      },
    )
  }

  get(name: string): T | undefined {
    return this.byName.get(name)?.opened
  }

  /**
   * The program that has not opened its object, or the first complaint of `look` about an open one.
   */
  unrest(look: (opened: T, name: string) => string | undefined): string | undefined {
    for (const [name, { opened }] of this.byName) {
      if (opened === undefined) return `${name} does not know ${this.what} yet`
      const complaint = look(opened, name)
      if (complaint !== undefined) return complaint
    }
    return undefined
  }
}
