import { runServer } from '@zabra/server'

const usage = `Usage: zabra <command> [options]

Commands:
  server [zoo.cfg]   run a ZooKeeper server in the foreground

  zabra <command> --help tells more.
`

/** The command `zabra`: resolves with the exit code. */
export async function main(args: readonly string[]): Promise<number> {
  const [command, ...rest] = args
  switch (command) {
    case 'server':
      return runServer(rest)
    case undefined:
    case 'help':
    case '--help':
    case '-h':
      process.stdout.write(usage)
      return command === undefined ? 2 : 0
    default:
      process.stderr.write(`zabra: unknown command ${command}\n\n${usage}`)
      return 2
  }
}
