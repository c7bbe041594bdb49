/** What two shells said after one command. */
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

/** Differences on purpose. Programs that read results do not meet them. */
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
      left.at(-1)?.startsWith('err Command not found:') === true &&
      right[0]?.startsWith('err Command not found:') === true,
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

/** Why this difference is one on purpose; undefined where it is none. */
export function explain(difference: Difference): string | undefined {
  return expected.find(({ applies }) => applies(difference))?.reason
}
