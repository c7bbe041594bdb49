import { isRefusal, ZabraError } from '@zabra/client'
import type { LeaderCoordinator } from './leader-coordinator.ts'

export interface CoordinatedOptions {
  /** The name of the task, the same in all instances. */
  readonly name: string
  /**
   * Scheduled times are rounded down to this, so that instances that fire a little apart mean the
   * same time. 1 s by default.
   */
  readonly everyMs?: number | undefined
  /** Called with the reason why a run was skipped: the servers could not be asked. */
  readonly onSkipped?: ((error: ZabraError) => void) | undefined
}

const everyMsDefault = 1000

/**
 * Wraps a job for schedulers without coordination of their own, such as NestJS's: it runs only on
 * the instance that leads, and once per scheduled time. The coordinator may be given by a function,
 * if it is opened after the job is declared.
 *
 *     registry.addCronJob('backup', new CronJob('0 3 * * *', coordinated(coordinator, { name: 'backup' }, backUp)))
 */
export function coordinated<Args extends readonly unknown[]>(
  coordinator: LeaderCoordinator | (() => LeaderCoordinator | undefined),
  options: CoordinatedOptions,
  work: (...args: Args) => unknown,
): (...args: Args) => Promise<void> {
  const { name, everyMs = everyMsDefault, onSkipped } = options
  if (!(everyMs >= 1)) throw new RangeError(`everyMs is a number of milliseconds, not ${everyMs}`)
  return async (...args) => {
    const one = typeof coordinator === 'function' ? coordinator() : coordinator
    if (one === undefined) return
    // oxlint-disable-next-line no-restricted-globals -- formats a time, and reads no clock
    const time = new Date(Math.floor(one.wallMs() / everyMs) * everyMs).toISOString()
    let isOurs: boolean
    try {
      isOurs = await one.shouldRun(`${name}:${time}`)
    } catch (error) {
      if (!(error instanceof ZabraError) || isRefusal(error, 'noAuth')) throw error
      onSkipped?.(error)
      return
    }
    if (isOurs) await work(...args)
  }
}

/** The parts of its class that a decorated method needs. */
export interface HasCoordinator {
  readonly coordinator: LeaderCoordinator | undefined
}

/**
 * The same as a decorator, below `@Cron`: the method runs only on the instance that leads. The
 * class has the coordinator in a property with that name.
 *
 *     @Cron('0 3 * * *')
 *     @OnLeader({ name: 'backup' })
 *     async backUp() {}
 */
export function OnLeader(options: CoordinatedOptions) {
  return (_target: object, _key: string | symbol, descriptor: PropertyDescriptor): void => {
    const work = descriptor.value as (...args: unknown[]) => unknown
    descriptor.value = function (this: HasCoordinator, ...args: unknown[]): Promise<void> {
      const own = (...rest: unknown[]): unknown => work.apply(this, rest)
      return coordinated(() => this.coordinator, options, own)(...args)
    }
  }
}
