import type { Codec } from '@zabra/client'
import { checkOptionNames } from '@zabra/client/internal'

/**
 * The codec of a recipe. Throws if it is missing, or if an option has neither that name nor one of
 * `names`: programs without types learn of a mistake when they make the recipe.
 */
export function codecOption<T>(
  recipe: string,
  options: { readonly codec?: Codec<T> | undefined } | undefined,
  names: Readonly<Record<string, true>> = {},
): Codec<T> {
  checkOptionNames(recipe, options ?? {}, { codec: true, ...names })
  if (options?.codec === undefined)
    throw new TypeError('codec is missing: it says how values are written down, as json() does')
  return options.codec
}
