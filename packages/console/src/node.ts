import type { NodeJson } from '@zabra/protocol/http-api'

/** A znode, as the API describes it. */
export interface Node extends NodeJson {
  /** Only its name is known: the ACL does not let it be read. */
  readonly isHidden?: true
}
