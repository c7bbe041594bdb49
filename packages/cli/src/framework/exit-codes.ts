/** The exit codes of every command; docs/command.md explains them. */
export const exitCodes = {
  ok: 0,
  /** The answer is no: differences were found, nothing matched, a server is not healthy. */
  no: 1,
  /** The command line is wrong. Nothing was done. */
  usage: 2,
  /** No connection, or no answer in time. A write may have happened; the message says so. */
  unavailable: 3,
  /** A node, file or context does not exist. */
  notFound: 4,
  /** The server does not permit it, or refused an identity. */
  notAllowed: 5,
  /** Another version, a node that exists already, a node with children. Nothing was changed. */
  conflict: 6,
  /** Anything else. */
  failed: 7,
  interrupted: 130,
  /** The program that read the output went away, as `head` does. */
  brokenPipe: 141,
} as const

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes]
