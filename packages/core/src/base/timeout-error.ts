/** Something took longer than the protocol allows. */
export class TimeoutError extends Error {
  override readonly name = 'TimeoutError'
}
