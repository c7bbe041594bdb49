import type { Live, Members } from '@zabra/recipes'
import type { Endpoint } from './registry.ts'

/** Nobody was there who could answer. */
export class NoInstanceError extends Error {
  override readonly name = 'NoInstanceError'
}

/**
 * Calls a service, its instances in turn. One that does not answer is passed over: it may be gone,
 * and its session not have expired yet.
 */
export class Caller {
  private readonly instances: Live<Members<Endpoint>>
  private turn = 0

  constructor(instances: Live<Members<Endpoint>>) {
    this.instances = instances
  }

  async call(path = '/'): Promise<string> {
    const members = [...this.instances.current.values()]
    const start = this.turn++
    const causes: unknown[] = []
    for (let tried = 0; tried < members.length; tried++) {
      const { host, port } = members[(start + tried) % members.length]!.data
      try {
        const response = await fetch(`http://${host}:${port}${path}`)
        return await response.text()
      } catch (error) {
        causes.push(error)
      }
    }
    throw new NoInstanceError(`${members.length} instances, and none answers`, { cause: causes })
  }
}
