import { join } from 'node:path'
import { compileC } from '../clients/c/prepare.ts'
import { pythonWithKazoo } from '../clients/kazoo/prepare.ts'

/**
 * A program that gets a server, a password, the number of a member and its line, and changes the
 * members with its own client: removes that member, and adds it again.
 */
export interface ForeignClient {
  readonly name: string
  readonly command: readonly string[]
}

/** The clients other than Java's that can send `reconfig`, if they are available. */
export async function foreignClients(): Promise<readonly ForeignClient[]> {
  const clients: ForeignClient[] = []
  const c = await compileC(join(import.meta.dirname, 'reconfigure.c'))
  if (c.ok) clients.push({ name: 'the C client', command: [c.program] })
  else console.log(`!!! NOT RUN: reconfig by the C client: ${c.reason}`)
  const python = await pythonWithKazoo()
  const script = join(import.meta.dirname, 'reconfigure.py')
  if (python.ok) clients.push({ name: 'kazoo', command: [python.program, script] })
  else console.log(`!!! NOT RUN: reconfig by kazoo: ${python.reason}`)
  return clients
}
