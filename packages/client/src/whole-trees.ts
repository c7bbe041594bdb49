import { parentOf } from '@zabra/protocol'
import { ConnectionLossError, isRefusal } from './errors.ts'
import { joinPath } from './paths.ts'

/** The parts of a client that these functions need; paths are the server's. */
export interface TreePort {
  exists(path: string): Promise<boolean>
  create(path: string): Promise<unknown>
  children(path: string): Promise<string[]>
  delete(path: string): Promise<unknown>
}

/** Whether the node exists. One that may not be read does. */
async function isThere(port: TreePort, path: string): Promise<boolean> {
  try {
    return await port.exists(path)
  } catch (error) {
    if (isRefusal(error, 'noAuth')) return true
    throw error
  }
}

/** Creates the node and its missing parents; a lost reply does no harm here. */
export async function ensurePath(
  port: TreePort,
  path: string,
  /** Called when a parent is missing: whether to create it. */
  mayGoOn: () => boolean = () => true,
): Promise<void> {
  for (;;) {
    if (path === '/' || (await isThere(port, path))) return
    try {
      await port.create(path)
      return
    } catch (error) {
      if (isRefusal(error, 'nodeExists')) return
      // A parent that is a container may be deleted before its first child is created.
      if (isRefusal(error, 'noNode') && mayGoOn()) await ensurePath(port, parentOf(path), mayGoOn)
      else if (!(error instanceof ConnectionLossError)) throw error
    }
  }
}

/**
 * Deletes the node and everything below it, including nodes created in the meantime; succeeds if
 * nothing exists.
 */
export async function deleteTree(port: TreePort, path: string): Promise<void> {
  for (;;) {
    const children = await port.children(path).catch((error: unknown) => {
      if (isRefusal(error, 'noNode')) return undefined
      throw error
    })
    if (children === undefined) return
    await Promise.all(children.map((name) => deleteLeafFirst(port, joinPath(path, name))))
    if (await tryDelete(port, path)) return
  }
}

/** Most nodes have no children: trying costs less than asking. */
async function deleteLeafFirst(port: TreePort, path: string): Promise<void> {
  if (!(await tryDelete(port, path))) await deleteTree(port, path)
}

async function tryDelete(port: TreePort, path: string): Promise<boolean> {
  try {
    await port.delete(path)
    return true
  } catch (error) {
    if (isRefusal(error, 'noNode')) return true
    if (isRefusal(error, 'notEmpty') || error instanceof ConnectionLossError) return false
    throw error
  }
}
