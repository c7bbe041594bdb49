/** The bytes do not match the declaration: the sender is at fault. */
export class MalformedError extends Error {
  override readonly name = 'MalformedError'
}

/** The bytes are well-formed, but contain null where a value is required. */
export class NullError extends MalformedError {}
