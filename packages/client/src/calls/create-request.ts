import { createFlags, type Acl, type CreateTtlRequest } from '@zabra/protocol'
import { OperationError } from '../errors.ts'
import type { CreateOptions } from '../options.ts'
import type { Paths } from '../paths.ts'
import { checkAcl } from './arguments.ts'
import { create, createContainer, createTtl } from './kinds.ts'

const noTtl = -1n

interface Form {
  readonly kind: typeof create | typeof createTtl
  readonly flags: number
  /** Appends a number to the name. */
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

/** The operation that creates such a node, and its request. */
export function createRequest(
  paths: Paths,
  path: string,
  data: Uint8Array | null,
  options: CreateOptions,
  defaultAcl: readonly Acl[],
): { readonly kind: Form['kind']; readonly request: CreateTtlRequest } {
  const { sequential = false, ttlMs, acl = defaultAcl } = options
  if (acl !== defaultAcl) checkAcl(acl)
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

function formOf(path: string, options: CreateOptions): Form {
  const { ephemeral, container, ttlMs } = options
  const hasTtl = ttlMs !== undefined
  const refuse = (why: string): never => {
    throw new OperationError('badArguments', { path }, `${why}: ${path}`)
  }
  if (Number(ephemeral === true) + Number(container === true) + Number(hasTtl) > 1)
    refuse('a node is ephemeral, a container or has a TTL: one of them')
  if (hasTtl && !Number.isSafeInteger(ttlMs))
    refuse(`ttlMs is a whole number of milliseconds, not ${ttlMs}`)
  if (container === true) return forms.container
  if (hasTtl) return forms.ttl
  return ephemeral === true ? forms.ephemeral : forms.persistent
}
