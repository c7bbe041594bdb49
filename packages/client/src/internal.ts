/**
 * What recipes and simulations need of the client, and applications do not. It may change with any
 * release.
 */
export { checkOptionNames } from './calls/option-names.ts'
export { isExactly, markErrorKind } from './error-kinds.ts'
export { makeGuid } from './guid.ts'
export { inspect } from './hidden.ts'
export type { Channel, Host, ServerAddress, Stream, StreamEvents } from './host.ts'
export { nodeHost, type NodeHostOptions } from './node-host/node-host.ts'
export { parseServers } from './machine/server-list.ts'
export { checkPath } from './paths.ts'
