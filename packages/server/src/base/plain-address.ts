/** Removes `::ffff:`, the prefix of IPv4 clients on a socket that listens for both families. */
export function plainAddress(address: string | undefined): string {
  if (address === undefined) return ''
  return address.startsWith('::ffff:') && address.includes('.') ? address.slice(7) : address
}
