/** The output of two shells for one command. */
export interface Difference {
  readonly command: string
  readonly left: readonly string[]
  readonly right: readonly string[]
}

interface Expected {
  readonly reason: string
  readonly applies: (difference: Difference) => boolean
}

const isOneOf =
  (...commands: readonly string[]) =>
  ({ command }: Difference): boolean =>
    commands.includes(command)

/** Deliberate differences, which do not affect programs that parse results. */
const expected: readonly Expected[] = [
  {
    reason: 'mistakes come without the name of a Java class',
    applies: ({ left, right }) =>
      left.map((line) => line.replace(/org\.apache\.commons\.cli\.\w+: /, '')).join('\n') ===
      right.join('\n'),
  },
  {
    reason: 'an unknown command is one line, with advice, and not the list of all commands',
    applies: ({ left, right }) =>
      left.some((line) => line.startsWith('err Command not found:')) &&
      right.some((line) => line.startsWith('err Command not found:')) &&
      left.filter((line) => line.startsWith('exit ')).join('') ===
        right.filter((line) => line.startsWith('exit ')).join(''),
  },
  {
    reason: 'ephemeral nodes are listed in the order of their names, and not in any order',
    applies: ({ command, left, right }) =>
      command.startsWith('getEphemerals') && sortedList(left) === sortedList(right),
  },
  {
    reason: 'an ACL that cannot be read is reported once',
    applies: ({ left, right }) =>
      left.filter((line) => line !== 'err KeeperErrorCode = InvalidACL').join('\n') ===
      right.join('\n'),
  },
  {
    reason: 'several limits of a quota may be set or taken away by one command',
    applies: isOneOf('delquota -n -b /q'),
  },
  {
    reason: 'the version is that of zabra',
    applies: isOneOf('version'),
  },
  {
    reason: '`redo` without a number says how it is used',
    applies: isOneOf('redo'),
  },
  {
    reason: 'a session ends with its command, and its ephemeral nodes at once, not when it expires',
    applies: ({ command, left, right }) =>
      command.startsWith('delete /NAME') &&
      left.some((line) => /^err Node (not empty|does not exist): /.test(line)) &&
      right.some((line) => line === 'err Node does not exist: /NAME' || line === 'exit 0'),
  },
  {
    // Another thread of it prints the event, anywhere between the lines of the command.
    reason: 'zkCli.sh prints that it has connected or closed while a command runs',
    applies: ({ left, right }) =>
      connectionEvents.some((event) => left.includes(event)) &&
      connectionEvents.every((event) => left.includes(event) === right.includes(event)) &&
      withoutEvent(left) === withoutEvent(right),
  },
  {
    // Neither of them waits for the connection, so it is chance which of them sees it.
    reason: 'a mistake may be reported before or after the connection',
    applies: ({ left, right }) =>
      left.at(-1) === 'exit 1' &&
      left.some((line) => line.startsWith('err ')) &&
      withoutEvent(left) === withoutEvent(right),
  },
  {
    reason: 'a shell whose only command is to leave does not connect first',
    applies: ({ command, right }) =>
      ['close', 'quit'].includes(command) &&
      right.join() === 'out Connecting to 127.0.0.1:PORT,exit 0',
  },
  {
    reason: 'a history of nothing is empty, and not `0 - null`',
    applies: ({ command, left }) => command === 'history' && left.includes('out 0 - null'),
  },
  {
    reason: 'a file that cannot be read is reported in the words of Node',
    applies: isOneOf('reconfig -file /nope'),
  },
]

function sortedList(lines: readonly string[]): string {
  return lines
    .map((line) =>
      line
        .split(/[[\], ]+/)
        .toSorted()
        .join(' '),
    )
    .join('\n')
}

/** The reason for a deliberate difference; undefined if it is not one. */
export function explain(difference: Difference): string | undefined {
  return expected.find(({ applies }) => applies(difference))?.reason
}

const connectionEvents = ['SyncConnected', 'Closed'].map(
  (state) => `out WatchedEvent state:${state} type:None path:null zxid: -1`,
)

/** The event is printed with blank lines around it. */
function withoutEvent(lines: readonly string[]): string {
  const event = new Set(['out ', 'out WATCHER::', ...connectionEvents])
  return lines.filter((line) => !event.has(line)).join('\n')
}
