/**
 * Parts of the client for recipes and simulations, not for applications. They may change with any
 * release.
 */
export { onAbort } from './abort-signals.ts'
export { checkCount, checkOneOf, checkTimeout } from './calls/arguments.ts'
export { callNames, checkOptionNames } from './calls/option-names.ts'
export { isExactly, markErrorKind } from './error-kinds.ts'
export { guarded } from './guarded.ts'
export { makeGuid } from './guid.ts'
export { inspect } from './hidden.ts'
export { provideHost } from './host.ts'
export type { Channel, Host, ServerAddress, Stream, StreamEvents } from './host.ts'
export { nodeHost, type NodeHostOptions } from './node-host/node-host.ts'
export { Listeners } from './listeners.ts'
export { pause } from './pause.ts'
export { Readers } from './readers.ts'
export { parseServers } from './machine/server-list.ts'
export { checkPath } from './paths.ts'
