import { UsageError } from '../framework/errors.ts'

/** `*` and `?` as in a shell; everything else is itself. */
export function globPattern(glob: string): RegExp {
  const escaped = glob.replaceAll(/[.+^${}()|[\]\\]/g, String.raw`\$&`)
  return new RegExp(`^${escaped.replaceAll('*', '.*').replaceAll('?', '.')}$`, 'su')
}

export function regexOf(text: string, flags: string): RegExp {
  try {
    return new RegExp(text, flags)
  } catch (error) {
    throw new UsageError((error as Error).message, '-F takes a text as it is')
  }
}
