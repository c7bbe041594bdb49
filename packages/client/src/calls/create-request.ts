import { createFlags, type Acl, type CreateTtlRequest } from '@zabra/protocol'
import { OperationError } from '../errors.ts'
import type { CreateOptions } from '../options.ts'
import type { Paths } from '../paths.ts'
import { create, createContainer, createTtl } from './kinds.ts'

/** Everybody may do everything. */
export const openAcl: readonly Acl[] = [{ perms: 31, id: { scheme: 'world', id: 'anyone' } }]

const noTtl = -1n

interface Form {
  readonly kind: typeof create | typeof createTtl
  readonly flags: number
  /** With a number at the end of its name. */
  readonly sequentialFlags: number
}

const forms = {
  persistent: {
    kind: create,
    flags: createFlags.persistent,
    sequentialFlags: createFlags.persistentSequential,
  },
  ephemeral: {
    kind: create,
    flags: createFlags.ephemeral,
    sequentialFlags: createFlags.ephemeralSequential,
  },
  container: {
    kind: createContainer,
    flags: createFlags.container,
    sequentialFlags: createFlags.persistentSequential,
  },
  ttl: {
    kind: createTtl,
    flags: createFlags.persistentTtl,
    sequentialFlags: createFlags.persistentSequentialTtl,
  },
} satisfies Readonly<Record<string, Form>>

/** Which operation makes such a node, and what it is asked. */
export function createRequest(
  paths: Paths,
  path: string,
  data: Uint8Array,
  options: CreateOptions,
): { readonly kind: Form['kind']; readonly request: CreateTtlRequest } {
  const { sequential = false, ttlMs, acl = openAcl } = options
  const { kind, flags, sequentialFlags } = formOf(path, options)
  const request = {
    path: sequential ? paths.toServerSequential(path) : paths.toServer(path),
    data,
    acl,
    flags: sequential ? sequentialFlags : flags,
    ttl: ttlMs === undefined ? noTtl : BigInt(ttlMs),
  }
  return { kind, request }
}

function formOf(path: string, { ephemeral, container, ttlMs }: CreateOptions): Form {
  const hasTtl = ttlMs !== undefined
  if (Number(ephemeral === true) + Number(container === true) + Number(hasTtl) > 1)
    throw new OperationError(
      'badArguments',
      { path },
      'a node is ephemeral, a container or has a TTL: one of them',
    )
  if (container === true) return forms.container
  if (hasTtl) return forms.ttl
  return ephemeral === true ? forms.ephemeral : forms.persistent
}
