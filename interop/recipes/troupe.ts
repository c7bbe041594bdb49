import { join } from 'node:path'
import { curatorJars } from '../clients/curator/prepare.ts'
import { compile, javaCommand } from '../clients/java/prepare.ts'
import { pythonWithKazoo } from '../clients/kazoo/prepare.ts'

/** The library whose recipes a program uses. */
export type Player = 'zabra' | 'curator' | 'kazoo'
export const players: readonly Player[] = ['zabra', 'curator', 'kazoo']

/** The command that starts a contender of each kind, without the address; or why there is none. */
export type Troupe = Readonly<Record<Player, readonly string[] | { readonly missing: string }>>

export async function prepareTroupe(): Promise<Troupe> {
  return { zabra: ours(), curator: await fromJava(), kazoo: await fromPython() }
}

function ours(): readonly string[] {
  const program = join(import.meta.dirname, 'contender.ts')
  return [process.execPath, '--conditions=@zabra/source', '--import', 'tsx', program]
}

async function fromJava() {
  const found = await curatorJars('curator-x-discovery')
  if (!found.ok) return { missing: found.reason }
  const { classPath } = found
  const sources = ['Contender', 'Sharer', 'Queuer']
  const classes = await compile('recipes', sources, classPath, import.meta.dirname)
  if (!classes.ok) return { missing: `javac failed: ${classes.output}` }
  return javaCommand([classes.dir, classPath], 'Contender')
}

async function fromPython() {
  const python = await pythonWithKazoo()
  if (!python.ok) return { missing: python.reason }
  return [python.program, join(import.meta.dirname, 'contender.py')]
}
