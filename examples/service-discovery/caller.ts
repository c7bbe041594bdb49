import type { Service } from '@zabra/recipes'

/** No instance could answer. */
export class NoInstanceError extends Error {
  override readonly name = 'NoInstanceError'
}

/**
 * Calls a service, taking its instances in turn. It skips one that does not answer: it may have
 * died while its session has not expired yet.
 */
export async function call(service: Service<unknown>, path = '/'): Promise<string> {
  const causes: unknown[] = []
  for (let tries = service.current.length; tries > 0; tries--) {
    const instance = service.choose()
    if (instance === undefined) break
    try {
      const response = await fetch(`http://${instance.address}:${instance.port}${path}`)
      return await response.text()
    } catch (error) {
      causes.push(error)
      service.noteError(instance)
    }
  }
  throw new NoInstanceError(`${causes.length} instances were tried, and none answers`, {
    cause: causes,
  })
}
