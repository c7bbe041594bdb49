import { createHash } from 'node:crypto'

/** The argument of `addauth digest` for the super user. */
export const superPassword = 'super:secret'

/** The same as a server is configured with it. */
export const superDigest = `super:${createHash('sha1').update(superPassword).digest('base64')}`
