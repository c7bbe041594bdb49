import { CommandError } from '../framework/errors.ts'
import { exitCodes } from '../framework/exit-codes.ts'
import type { Context, Contexts } from './contexts.ts'

/** The context, or an error that names those that exist. */
export function contextNamed({ contexts }: Contexts, name: string): Context {
  const context = Object.hasOwn(contexts, name) ? contexts[name] : undefined
  if (context !== undefined) return context
  const names = Object.keys(contexts)
  throw new CommandError(`context '${name}' does not exist`, {
    code: 'noContext',
    exitCode: exitCodes.notFound,
    hint:
      names.length === 0
        ? `\`zabra context add ${name} --servers HOST:PORT\` makes it`
        : `there are ${names.join(', ')}`,
  })
}
