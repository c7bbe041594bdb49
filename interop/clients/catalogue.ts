/** One task of a client. */
export interface Check {
  readonly name: string
  readonly meaning: string
}

/** Tasks of every client; a client without the feature reports `absent`, with the reason. */
export const everyday: readonly Check[] = [
  { name: 'connect', meaning: 'a session opens with an id, a password and the asked timeout' },
  { name: 'create', meaning: 'persistent, ephemeral, and both of them sequential' },
  { name: 'create-container', meaning: 'a container node' },
  { name: 'create-ttl', meaning: 'a node with a time to live, plain and sequential' },
  { name: 'get-set', meaning: 'data comes back as it was set: text, none, nearly a megabyte' },
  { name: 'exists', meaning: 'a stat, or nothing' },
  { name: 'children', meaning: 'names and number of children' },
  { name: 'delete', meaning: 'a deleted node is gone' },
  { name: 'versions', meaning: 'set and delete are refused for a stale version' },
  { name: 'refusals', meaning: 'each refusal reaches the caller as its own error' },
  { name: 'acl', meaning: 'digest authentication, what it opens and what stays shut without it' },
  { name: 'multi', meaning: 'a transaction is carried out whole' },
  { name: 'multi-refused', meaning: 'a refused transaction leaves nothing, and says what failed' },
  { name: 'watch-data', meaning: 'a data watch fires once, for a change and for a deletion' },
  { name: 'watch-exists', meaning: 'a watch on nothing fires when the node is created' },
  { name: 'watch-child', meaning: 'a child watch fires for a new and for a lost child' },
  { name: 'watch-persistent', meaning: 'a persistent watch fires for every change of its node' },
  { name: 'watch-recursive', meaning: 'a recursive watch fires for every change below its node' },
  { name: 'watch-removed', meaning: 'a removed watch stays silent' },
  { name: 'sync', meaning: 'sync is answered' },
  { name: 'restart-soft', meaning: 'SIGTERM and a new start: same session, same ephemerals' },
  { name: 'restart-hard', meaning: 'SIGKILL and a new start: same session, same ephemerals' },
  { name: 'restart-watches', meaning: 'watches set before a restart fire after it' },
  { name: 'expiry', meaning: 'a stopped client loses its ephemeral, and learns that it expired' },
  { name: 'close', meaning: 'closing a session removes its ephemerals at once' },
]

/** Tasks of the programs that the README and the guides show. */
export const readme: readonly Check[] = [
  { name: 'lists', meaning: 'the program runs as it is printed, and lists what is there' },
  { name: 'ported', meaning: 'the program of the guide prints what the ported one prints' },
]

/** Tasks of Curator's recipes. */
export const recipes: readonly Check[] = [
  { name: 'mutex', meaning: 'InterProcessMutex lets one thread in at a time' },
  { name: 'mutex-timeout', meaning: 'a held mutex is not acquired by another within its time' },
  { name: 'leader-latch', meaning: 'one of three latches leads; closing it elects another' },
  { name: 'leader-dies', meaning: 'a leader whose process is killed is replaced' },
  { name: 'mutex-restart', meaning: 'a mutex held over a restart of the server is still held' },
]
