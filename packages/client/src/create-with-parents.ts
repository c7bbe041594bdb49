import type { Created } from './calls/kinds.ts'
import { isRefusal } from './errors.ts'
import { ensurePath, type TreePort } from './whole-trees.ts'

/** How often a parent may be deleted before its child is created, as happens to containers. */
const goneMax = 10

/**
 * Creates a node; if its parents are missing, creates these first. Gives up on parents that
 * somebody deletes again and again, and passes the error on.
 */
export async function createWithParents(
  create: () => Promise<Created>,
  /**
   * A function, since it is needed only if a parent is missing; the path is known to be valid then.
   */
  parentOnServer: () => string,
  port: TreePort,
): Promise<Created> {
  let refusalsMax = Infinity
  let refusals = 0
  const mayGoOn = (): boolean => ++refusals <= refusalsMax
  for (;;) {
    try {
      return await create()
    } catch (error) {
      if (!isRefusal(error, 'noNode') || !mayGoOn()) throw error
      const parent = parentOnServer()
      // Each level may be refused once before the level above exists.
      refusalsMax = parent.split('/').length + goneMax
      await ensurePath(port, parent, mayGoOn).catch((problem: unknown) => {
        throw isRefusal(problem, 'noNode') ? error : problem
      })
    }
  }
}
