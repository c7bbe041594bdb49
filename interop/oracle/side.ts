import { digestOf, superUser } from './program/ingredients.ts'
import type { Target } from './play/stage.ts'
import type { Address } from './play/connection.ts'
import { askFourLetters } from '../src/four-letters.ts'
import { Ensemble } from '../src/ensemble.ts'
import type { ServerCommand } from '../src/commands.ts'

/** One of the two compared parties: a server or an ensemble. */
export interface Side extends Target {
  readonly name: string
  /** Whether every server still answers. */
  serving(): Promise<boolean>
  /** Replaces the running servers by new, empty ones. */
  startFresh(): Promise<void>
  dispose(): Promise<void>
  /** The last lines of the servers' logs. */
  logs(): string
}

/** Settings that keep programs short and let them reach everything. */
function baseCfg(extra: readonly string[]): string[] {
  return [
    'tickTime=1000',
    'initLimit=10',
    'syncLimit=5',
    'maxClientCnxns=0',
    '4lw.commands.whitelist=*',
    'extendedTypesEnabled=true',
    'forceSync=no',
    'preAllocSize=1000',
    `DigestAuthenticationProvider.superDigest=${digestOf(superUser)}`,
    ...extra,
  ]
}

export interface SideOptions {
  readonly members: number
  /** Additional lines of zoo.cfg. */
  readonly cfg: readonly string[]
}

/** Servers that the oracle starts, restarts and stops itself. */
export class ManagedSide implements Side {
  readonly name: string
  readonly canRestart = true
  readonly #command: ServerCommand
  readonly #options: SideOptions
  #ensemble: Ensemble | undefined

  constructor(command: ServerCommand, options: SideOptions) {
    this.name = command.name
    this.#command = command
    this.#options = options
  }

  get addresses(): readonly Address[] {
    return (this.#ensemble?.servers ?? []).map(({ host, port }) => ({ host, port }))
  }

  serving(): Promise<boolean> {
    return allServing(this.addresses)
  }

  async startFresh(): Promise<void> {
    await this.dispose()
    const { members, cfg } = this.#options
    this.#ensemble = await Ensemble.open(Array<ServerCommand>(members).fill(this.#command), {
      cfg: baseCfg(cfg).join('\n'),
      // Programs create containers and look at them; removing them would depend on timing.
      properties: ['znode.container.checkIntervalMs=3600000'],
    })
    await this.#ensemble.start()
  }

  async restart(hard: boolean): Promise<void> {
    await this.#ensemble?.stop(hard ? 'SIGKILL' : 'SIGTERM')
    await this.#ensemble?.start()
  }

  async dispose(): Promise<void> {
    await this.#ensemble?.dispose()
    this.#ensemble = undefined
  }

  logs(): string {
    return this.#ensemble?.logTails(15).join('\n') ?? ''
  }
}

/** Servers that somebody else runs, with the settings above. */
export class FixedSide implements Side {
  readonly name: string
  readonly canRestart = false
  readonly addresses: readonly Address[]

  /** A list of HOST:PORT, separated by commas. */
  constructor(list: string) {
    this.name = list
    this.addresses = list.split(',').map((address) => {
      const colon = address.lastIndexOf(':')
      return { host: address.slice(0, colon), port: Number(address.slice(colon + 1)) }
    })
  }

  serving(): Promise<boolean> {
    return allServing(this.addresses)
  }

  startFresh(): Promise<void> {
    return Promise.resolve()
  }

  restart(): Promise<void> {
    return Promise.reject(new Error('this server is not ours to restart'))
  }

  dispose(): Promise<void> {
    return Promise.resolve()
  }

  logs(): string {
    return ''
  }
}

/** Asks the servers: Apache stops serving some time before its process exits. */
async function allServing(addresses: readonly Address[]): Promise<boolean> {
  const answers = await Promise.all(
    addresses.map(({ host, port }) => askFourLetters(host, port, 'srvr')),
  )
  return answers.every((answer) => /^Mode:/m.test(answer))
}
