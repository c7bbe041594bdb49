import { isRefusal, type Client, type EnsureOptions } from '@zabra/client'

/** Makes the node that the others live under: a container, so that it goes when nobody is left. */
export async function ensureParent(
  client: Client,
  path: string,
  options: Omit<EnsureOptions, 'container'> = {},
): Promise<void> {
  try {
    await client.ensure(path, { ...options, container: true })
  } catch (error) {
    // Servers before 3.5.3 know no containers.
    if (!isRefusal(error, 'unimplemented')) throw error
    await client.ensure(path, options)
  }
}

/** Does what needs the parent, and makes it again where it went in between. */
export async function below<T>(
  client: Client,
  parent: string,
  options: Omit<EnsureOptions, 'container'>,
  act: () => Promise<T>,
): Promise<T> {
  for (;;) {
    try {
      return await act()
    } catch (error) {
      if (!isRefusal(error, 'noNode')) throw error
    }
    await ensureParent(client, parent, options)
  }
}

export const join = (parent: string, name: string): string =>
  parent === '/' ? `/${name}` : `${parent}/${name}`

export const parentOf = (path: string): string => path.slice(0, path.lastIndexOf('/')) || '/'
