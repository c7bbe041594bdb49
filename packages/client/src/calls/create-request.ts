import { createFlags, type Acl, type CreateTtlRequest } from '@zabra/protocol'
import { OperationError } from '../errors.ts'
import type { CreateOptions } from '../options.ts'
import type { Paths } from '../paths.ts'
import { create, createContainer, createTtl } from './kinds.ts'

/** Everybody may do everything. */
export const openAcl: readonly Acl[] = [{ perms: 31, id: { scheme: 'world', id: 'anyone' } }]

/** Which operation makes such a node, and what it is asked. */
export function createRequest(
  paths: Paths,
  path: string,
  data: Uint8Array,
  options: CreateOptions,
): { readonly kind: typeof create | typeof createTtl; readonly request: CreateTtlRequest } {
  const { ephemeral = false, sequential = false, container = false, ttlMs, acl = openAcl } = options
  if ([ephemeral, container, ttlMs !== undefined].filter(Boolean).length > 1)
    throw new OperationError(
      'badArguments',
      { path },
      'a node is ephemeral, a container or has a TTL: one of them',
    )
  const request = {
    path: sequential ? paths.toServerSequential(path) : paths.toServer(path),
    data,
    acl,
    ttl: BigInt(ttlMs ?? -1),
  }
  if (container) {
    const flags = sequential ? createFlags.persistentSequential : createFlags.container
    return { kind: createContainer, request: { ...request, flags } }
  }
  if (ttlMs !== undefined) {
    const flags = sequential ? createFlags.persistentSequentialTtl : createFlags.persistentTtl
    return { kind: createTtl, request: { ...request, flags } }
  }
  const flags = (ephemeral ? createFlags.ephemeral : 0) | (sequential ? 2 : 0)
  return { kind: create, request: { ...request, flags } }
}
