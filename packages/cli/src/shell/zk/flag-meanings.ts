/** The meaning of each flag of the zkCli.sh commands, shown by `help`. */
export const flagMeanings: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  addWatch: { m: 'PERSISTENT or PERSISTENT_RECURSIVE, the default' },
  config: {
    c: 'only the version and the addresses for clients',
    s: 'also print the stat of the node',
    w: 'print the next change',
  },
  create: {
    s: 'append a number that only grows to the name',
    e: 'delete the node with the session of this shell',
    c: 'a container: deleted some time after its last child',
    t: 'delete the node after so many milliseconds without change and children',
  },
  delete: { v: 'only if the data has this version' },
  deleteall: { b: 'delete so many nodes in one transaction' },
  delquota: {
    n: 'the soft limit of nodes',
    b: 'the soft limit of bytes',
    N: 'the hard limit of nodes',
    B: 'the hard limit of bytes',
  },
  get: {
    s: 'also print the stat',
    w: 'print the next change of the data',
    b: 'print the data as base64',
    x: 'print the data as a hex dump',
  },
  getAcl: { s: 'also print the stat' },
  ls: {
    s: 'also print the stat',
    w: 'print the next change of the children',
    R: 'list the paths of the node and its whole subtree',
  },
  reconfig: {
    s: 'also print the stat of the configuration',
    v: 'only if the configuration has this version, in hexadecimal',
    file: 'the new members, from a file',
    members: 'the new members, separated by commas',
    add: 'servers that join',
    remove: 'ids of servers that leave',
  },
  removewatches: {
    c: 'watches of the children',
    d: 'watches of the data',
    p: 'the persistent watch',
    r: 'the persistent recursive watch',
    a: 'all watches, the default',
    l: 'accepted, without effect',
  },
  set: {
    s: 'also print the stat',
    v: 'only if the data has this version',
    b: 'the data is base64',
  },
  setAcl: {
    s: 'also print the stat',
    v: 'only if the ACL has this version',
    R: 'also for the whole subtree',
  },
  setquota: {
    n: 'soft limit of nodes; exceeding it is logged',
    b: 'soft limit of bytes; exceeding it is logged',
    N: 'hard limit of nodes; exceeding it is refused',
    B: 'hard limit of bytes; exceeding it is refused',
  },
  stat: { w: 'print the next change of the node' },
}
