/** Whether only programs on this machine can reach this address. */
export function isLoopback(address: string): boolean {
  return address === 'localhost' || address === '::1' || address.startsWith('127.')
}
