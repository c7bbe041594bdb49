import { json, type Client } from '@zabra/client'
import { joinGroup, watchGroup, type Live, type Members, type Membership } from '@zabra/recipes'

/** Where an instance of a service can be reached. */
export interface Endpoint {
  readonly host: string
  readonly port: number
}

const codec = json<Endpoint>()
const pathOf = (service: string): string => `/services/${service}`

/** Registers an instance: for as long as its program lives, over lost connections and sessions. */
export function register(
  client: Client,
  service: string,
  id: string,
  endpoint: Endpoint,
): Promise<Membership<Endpoint>> {
  return joinGroup(client, pathOf(service), endpoint, { codec, name: id })
}

/** The instances of a service, kept up to date. */
export function discover(client: Client, service: string): Promise<Live<Members<Endpoint>>> {
  return watchGroup(client, pathOf(service), { codec })
}
