import { isRefusal, parentPath, type Client, type EnsureOptions } from '@zabra/client'

/** Creates the common parent: a container, so that it is deleted when nobody is left. */
export async function ensureParent(
  client: Client,
  path: string,
  options: Omit<EnsureOptions, 'container'> = {},
): Promise<void> {
  try {
    await client.ensure(path, { ...options, container: true })
  } catch (error) {
    // Servers before 3.5.3 have no containers.
    if (!isRefusal(error, 'unimplemented')) throw error
    await client.ensure(path, options)
  }
}

/** How often a parent may be deleted before its child is created; then there is another reason. */
const attemptsMax = 100

/** Does something that needs the parent, and creates it again if it was deleted in between. */
export async function below<T>(
  client: Client,
  parent: string,
  options: Omit<EnsureOptions, 'container'>,
  act: () => Promise<T>,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await act()
    } catch (error) {
      if (!isRefusal(error, 'noNode') || attempt === attemptsMax) throw error
      const { path = parent } = error
      // If something else is missing, the parent does not help.
      if (path !== parent && parentPath(path) !== parent) throw error
    }
    await ensureParent(client, parent, options)
  }
}

/** Throws if this cannot be the name of one node. */
export function checkName(name: string, what: string): void {
  if (name === '' || name === '.' || name === '..' || name.includes('/'))
    throw new TypeError(`'${name}' is no name of ${what}: it must not be empty or contain a slash`)
}
