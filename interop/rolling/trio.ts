import type { ServerCommand } from '../src/commands.ts'
import { Ensemble } from '../src/ensemble.ts'

/** Settings as in production. */
const cfg = `
tickTime=2000
initLimit=10
syncLimit=5
maxClientCnxns=0
4lw.commands.whitelist=*
`

/** Three servers of one kind, with the defaults of Apache's sample configuration. */
export function startTrio(command: ServerCommand): Promise<Ensemble> {
  return Ensemble.start([command, command, command], { cfg })
}
