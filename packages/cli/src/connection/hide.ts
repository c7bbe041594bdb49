/** A connection string as it may be shown. */
export function withoutPassword(servers: string): string {
  return servers.replace(/^(zks?:\/\/[^:@/]*):[^@/]*@/, '$1:...@')
}

/** An identity as it may be shown: `digest:ann:...`. */
export function withoutCredentials(identity: string): string {
  if (identity.startsWith('@')) return identity
  const [scheme = '', ...rest] = identity.split(':')
  return rest.length > 1 ? `${scheme}:${rest[0]}:...` : `${scheme}:...`
}
