/** IPv4 clients of a socket that listens for both families come as ::ffff:a.b.c.d. */
export function plainAddress(address: string | undefined): string {
  if (address === undefined) return ''
  return address.startsWith('::ffff:') && address.includes('.') ? address.slice(7) : address
}
