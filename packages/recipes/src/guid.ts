import type { Client } from '@zabra/client'

/** 128 bits of the host's chance: a name that nobody else uses. */
export function guid(client: Client): string {
  return Array.from({ length: 32 }, () => Math.floor(client.host.random() * 16).toString(16)).join(
    '',
  )
}
