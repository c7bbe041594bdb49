import { json, type Codec } from '@zabra/client'

/** An instance of a service, with the fields of Curator's ServiceInstance. */
export interface ServiceInstance<Payload = unknown> {
  readonly name: string
  /** The id of this instance, unique in its service. */
  readonly id: string
  readonly address: string | null
  readonly port: number | null
  readonly sslPort: number | null
  readonly payload: Payload | null
  /** Milliseconds since 1970. */
  readonly registrationTimeUTC: number
  readonly serviceType: 'DYNAMIC' | 'STATIC' | 'PERMANENT' | 'DYNAMIC_SEQUENTIAL'
  readonly uriSpec: UriSpec | null
  /** Whether it wants to be chosen. */
  readonly enabled: boolean
}

/** A pattern of addresses, as in Curator: text, and names of fields to insert. */
export interface UriSpec {
  readonly parts: readonly { readonly value: string; readonly variable: boolean }[]
}

/**
 * The JSON that Curator's JsonInstanceSerializer writes and reads. `check` validates the payload:
 * it returns it, or throws.
 *
 *     const codec = instanceCodec<{ zone: string }>()
 *     const { data } = await client.get('/services/search/17', { codec })
 *     console.log(data.name, data.payload?.zone)
 */
export function instanceCodec<Payload>(
  check: (payload: unknown) => Payload = (payload) => payload as Payload,
): Codec<ServiceInstance<Payload>> {
  const plain = json<Partial<ServiceInstance<Payload>>>()
  return {
    encode: (instance) => plain.encode(inOrder(instance)),
    decode(bytes) {
      const instance = inOrder(plain.decode(bytes))
      if (instance.payload === null) return instance
      return { ...instance, payload: check(instance.payload) }
    },
  }
}

/** In Curator's order, with all fields; releases before 4 did not have `enabled`. */
function inOrder<Payload>(instance: Partial<ServiceInstance<Payload>>): ServiceInstance<Payload> {
  if (typeof instance.name !== 'string' || typeof instance.id !== 'string')
    throw new TypeError('a service instance has a name and an id')
  return {
    name: instance.name,
    id: instance.id,
    address: instance.address ?? null,
    port: instance.port ?? null,
    sslPort: instance.sslPort ?? null,
    payload: instance.payload ?? null,
    registrationTimeUTC: instance.registrationTimeUTC ?? 0,
    serviceType: instance.serviceType ?? 'DYNAMIC',
    uriSpec: instance.uriSpec ?? null,
    enabled: instance.enabled ?? true,
  }
}

/**
 * The address by the instance's pattern; a name that is no field stays as it is.
 *
 *     console.log(uriOf(instance)) // http://10.0.0.1:8080
 */
export function uriOf(instance: ServiceInstance): string | undefined {
  const { uriSpec, address, port, sslPort, name, id, registrationTimeUTC, serviceType } = instance
  if (uriSpec === null) return undefined
  const fields = new Map<string, string | number | null>([
    ['scheme', sslPort === null ? 'http' : 'https'],
    ['name', name],
    ['id', id],
    ['address', address],
    ['port', port],
    ['ssl-port', sslPort],
    ['registration-time-utc', registrationTimeUTC],
    ['service-type', serviceType.toLowerCase()],
  ])
  return uriSpec.parts
    .map(({ value, variable }) => (variable ? String(fields.get(value) ?? value) : value))
    .join('')
}
