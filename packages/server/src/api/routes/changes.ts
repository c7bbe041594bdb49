import {
  anyVersion,
  codes,
  createFlags,
  errorCodes,
  errorName,
  pathProblem,
  type AclJson,
  type MultiOp,
  type Stat,
} from '@zabra/protocol'
import { ApiError, badRequest, isRefused, toApiError, Refused } from '../api-error.ts'
import { pathParameter, type Call, type Route } from '../route.ts'
import { array, boolean, choice, object, text, type Schema } from '../schema.ts'
import {
  aclFrom,
  aclSchema,
  dataFields,
  dataFrom,
  nodeJson,
  nodeSchema,
  openAcl,
  type GivenData,
} from '../shapes.ts'
import { statOf } from '../tree.ts'

const operationsMax = 1000
const version: Schema = { type: 'integer', minimum: -1, maximum: 2 ** 31 - 1 }
const kinds = ['persistent', 'container', 'ttl'] as const

interface CreateJson extends GivenData {
  readonly path: string
  readonly kind?: (typeof kinds)[number]
  readonly isSequential?: boolean
  readonly ttlMs?: number
  readonly acl?: readonly AclJson[]
}

const createFields = {
  ...dataFields,
  kind: choice(...kinds),
  isSequential: boolean,
  ttlMs: { type: 'integer', minimum: 1, maximum: 2 ** 40 - 1 } satisfies Schema,
  acl: { ...aclSchema, description: 'By default, everybody may do everything' },
}

interface TxnOperation extends CreateJson {
  readonly op: 'create' | 'set' | 'delete' | 'check'
  readonly version?: number
}

/** Routes that change znodes. If a version does not match, nothing changes. */
export const changes: readonly Route[] = [
  {
    method: 'POST',
    path: '/node',
    summary:
      'Creates a znode; sessions of the API end when idle, so ephemeral ones are not offered',
    role: 'write',
    body: object({ path: text }, createFields),
    answer: nodeSchema,
    errors: [404, 409, 413],
    handle: create,
  },
  {
    method: 'PUT',
    path: '/data',
    summary: 'Replaces the data of a znode',
    role: 'write',
    parameters: {
      path: pathParameter,
      version: {
        kind: 'integer',
        description: 'The version to replace; -1 for any',
        isRequired: true,
        minimum: -1,
      },
    },
    body: object({}, dataFields),
    takesBytes: true,
    answer: nodeSchema,
    errors: [404, 409, 413],
    async handle(call) {
      const { client, view, query, body, bytes } = call
      const path = query.path()
      const data = bytes ?? dataFrom(body as GivenData)
      const request = { path, data, version: query.integer('version') ?? anyVersion }
      const { stat } = await withNodeOnConflict(call, path, client.call('setData', request))
      return nodeJson(view, path, stat)
    },
  },
  {
    method: 'PUT',
    path: '/acl',
    summary: 'Replaces the ACL of a znode',
    role: 'write',
    parameters: {
      path: pathParameter,
      version: { kind: 'integer', description: 'The aversion to replace; -1 for any', minimum: -1 },
    },
    body: object({ acl: aclSchema }),
    answer: nodeSchema,
    errors: [404, 409],
    async handle(call) {
      const { client, view, query, body } = call
      const path = query.path()
      const acl = aclFrom((body as { readonly acl: readonly AclJson[] }).acl)
      const request = { path, acl, version: query.integer('version') ?? anyVersion }
      const { stat } = await withNodeOnConflict(call, path, client.call('setACL', request))
      return nodeJson(view, path, stat)
    },
  },
  {
    method: 'POST',
    path: '/txn',
    summary: 'Carries out all operations, or none',
    role: 'write',
    body: object({
      operations: array(
        object(
          { op: choice('create', 'set', 'delete', 'check'), path: text },
          { ...createFields, version },
        ),
        operationsMax,
      ),
    }),
    answer: object({ results: array(object({}, { path: text, node: nodeSchema })) }),
    errors: [404, 409, 413],
    handle: txn,
  },
]

async function create({ client, body, view }: Call): Promise<unknown> {
  const { type, request } = createOperation(body as CreateJson)
  const name =
    type === codes.create2 ? 'create2' : type === codes.createTTL ? 'createTTL' : 'createContainer'
  const { path, stat } = await client.call(name, request as never)
  return nodeJson(view, path, stat)
}

function createOperation(json: CreateJson): MultiOp & { type: number } {
  const { path, kind = 'persistent', isSequential = false, ttlMs, acl } = json
  const problem = pathProblem(isSequential && path.endsWith('/') ? `${path}0` : path)
  if (problem !== undefined) throw badRequest(`path: ${problem}`, path)
  if ((kind === 'ttl') !== (ttlMs !== undefined)) {
    throw badRequest('ttlMs belongs to a znode of the kind ttl, and only to one', path)
  }
  if (kind === 'container' && isSequential) throw badRequest('A container is not sequential', path)
  const rest = { path, data: dataFrom(json), acl: acl === undefined ? openAcl : aclFrom(acl) }
  if (kind === 'container') {
    return { type: codes.createContainer, request: { ...rest, flags: createFlags.container } }
  }
  if (kind === 'ttl') {
    const flags = isSequential ? createFlags.persistentSequentialTtl : createFlags.persistentTtl
    return { type: codes.createTTL, request: { ...rest, flags, ttl: BigInt(ttlMs ?? 0) } }
  }
  const flags = isSequential ? createFlags.persistentSequential : createFlags.persistent
  return { type: codes.create2, request: { ...rest, flags } }
}

function txnOperation(operation: TxnOperation): MultiOp {
  const { op, path, version: wanted = anyVersion } = operation
  if (op === 'create') return createOperation(operation)
  const problem = pathProblem(path)
  if (problem !== undefined) throw badRequest(`path: ${problem}`, path)
  switch (op) {
    case 'set':
      return { type: codes.setData, request: { path, data: dataFrom(operation), version: wanted } }
    case 'delete':
      return { type: codes.delete, request: { path, version: wanted } }
    case 'check':
      return { type: codes.check, request: { path, version: wanted } }
  }
}

async function txn({ client, body, view }: Call): Promise<unknown> {
  const { operations } = body as { readonly operations: readonly TxnOperation[] }
  const results = await client.call('multi', operations.map(txnOperation))
  // Parts before the failed one are ok, those after it inconsistent.
  const failed = results.findIndex(
    ({ err }) => err !== errorCodes.ok && err !== errorCodes.runtimeInconsistency,
  )
  const failure = results[failed]
  if (failure !== undefined) {
    const { path } = operations[failed]!
    const known = toApiError(new Refused(failure.err), path)!
    throw new ApiError(known.status, known.code, `${known.message}; nothing has changed`, path, {
      operation: failed,
      reason: errorName(failure.err),
    })
  }
  return {
    results: results.map((result, at) => {
      const { path = operations[at]!.path, stat } = (
        'response' in result ? result.response : {}
      ) as { readonly path?: string; readonly stat?: Stat }
      return { path, ...(stat === undefined ? {} : { node: nodeJson(view, path, stat) }) }
    }),
  }
}

/** Reports the current state to a caller whose version does not match. */
export async function withNodeOnConflict<T>(
  { client, view }: Pick<Call, 'client' | 'view'>,
  path: string,
  change: Promise<T>,
): Promise<T> {
  try {
    return await change
  } catch (error) {
    if (!isRefused(error, 'badVersion')) throw error
    const stat = await statOf(client, path)
    const node = typeof stat === 'object' ? nodeJson(view, path, stat) : null
    const { status, code, message } = toApiError(error)!
    throw new ApiError(status, code, message, path, { node })
  }
}
