import type { Created } from './calls/kinds.ts'
import { isRefusal } from './errors.ts'
import { ensurePath, type TreePort } from './whole-trees.ts'

/** How often parents may go again before their child comes, as containers do. */
const goneMax = 10

/**
 * Makes a node, and first its parents where it is refused for want of them. Parents that somebody
 * deletes again and again are not made for ever: then the refusal stands.
 */
export async function createWithParents(
  create: () => Promise<Created>,
  /** Asked for once it is needed: then the path is known to be one. */
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
      // Each level may be refused once before the one above it is there.
      refusalsMax = parent.split('/').length + goneMax
      await ensurePath(port, parent, mayGoOn).catch((problem: unknown) => {
        throw isRefusal(problem, 'noNode') ? error : problem
      })
    }
  }
}
