import type { ServerConfig } from '../config/config.ts'
import { isLoopback } from '../config/loopback.ts'

/** Roles of callers, the least first; ACLs apply in addition. */
export const roles = ['none', 'metadata', 'read', 'write', 'admin'] as const
export type Role = (typeof roles)[number]

export function includes(role: Role, needed: Role): boolean {
  return roles.indexOf(role) >= roles.indexOf(needed)
}

/** The one that allows the most. */
export function highest(...given: readonly Role[]): Role {
  return given.reduce((most, role) => (includes(role, most) ? role : most), 'none')
}

/**
 * Whether a caller may see sessions, their clients and the log: everybody if only this machine
 * reaches the port, else administrators. Knowing the id of a session can be enough to take it over.
 */
export function maySeePrivate({ config }: { readonly config: ServerConfig }, role: Role): boolean {
  return includes(role, isLoopback(config.admin.address) ? 'metadata' : 'admin')
}
