import { createHash } from 'node:crypto'

/** What `addauth digest` takes of the user who may do everything. */
export const superPassword = 'super:secret'

/** The same as a server is configured with it. */
export const superDigest = `super:${createHash('sha1').update(superPassword).digest('base64')}`
