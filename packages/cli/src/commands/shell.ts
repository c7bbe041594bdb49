import { defineRawCommand } from '../framework/command.ts'
import { processIo } from '../framework/io.ts'

const usage = `The shell: every command of zkCli.sh, and every command of zabra.

Usage: zabra shell [OPTIONS] [COMMAND [ARGUMENTS]]

Options, as zkCli.sh has them:
  -server HOSTS                 host:port,host:port/chroot
  -timeout MS                   session timeout
  -r                            accept a server without a quorum, for reads
  -waitforconnection            wait for the connection before the first command
  -client-configuration FILE    properties of Java clients: TLS with PEM files

All options to connect of other commands work, too: --servers, --context, --auth, --tls ... \`zabra help get\` lists
them.

Without a command it reads commands from the terminal or from a pipe, one a line.

Examples:
  zabra shell
      a prompt, with completion and history
  zabra shell -server zk1:2181 get /app
      one command, as with zkCli.sh
  echo 'create /app x' | zabra shell
      commands from a pipe
`

export const command = defineRawCommand({
  async run(args) {
    const { startOptions } = await import('../shell/start-options.ts')
    const options = startOptions(args, processIo.env)
    if (options.wantsHelp) {
      processIo.stdout.write(usage)
      return 0
    }
    const { runShell } = await import('../shell/shell.ts')
    return runShell(options)
  },
})
