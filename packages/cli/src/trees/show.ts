import { noData } from '@zabra/client'
import { aclTexts } from '../node/acl-text.ts'
import { textOf } from '../node/data.ts'
import type { Output } from '../output/output.ts'
import { counted, sizeText } from '../output/units.ts'
import type { Difference } from './compare.ts'
import { lineDiff } from './line-diff.ts'
import { pathBelow, type TreeNode } from './tree.ts'

/** A difference as JSON: `added` is what the second tree, or a plan, has besides. */
export function differenceJson(difference: Difference, top: string) {
  const path = pathBelow(top, difference.path)
  switch (difference.type) {
    case 'missing':
      return { path, change: 'create' }
    case 'extra':
      return { path, change: 'delete' }
    case 'different':
      return { path, change: 'update', fields: difference.fields }
  }
}

/** Prints differences: `+` what is missing, `-` what is too much, `~` what is different. */
export function showDifferences(
  out: Output,
  differences: readonly Difference[],
  top: string,
  withData: boolean,
): void {
  const { style } = out
  for (const difference of differences) {
    const path = pathBelow(top, difference.path)
    switch (difference.type) {
      case 'missing':
        out.line(style.green(`+ ${path}${described(difference.wanted)}`))
        break
      case 'extra':
        out.line(style.red(`- ${path}${described(difference.found)}`))
        break
      case 'different':
        out.line(style.yellow(`~ ${path}  ${difference.fields.join(', ')}`))
        if (withData) showFields(out, difference)
    }
  }
}

function showFields(
  out: Output,
  { fields, wanted, found }: Difference & { type: 'different' },
): void {
  const { style } = out
  const both = (before: string, after: string): void => {
    out.line(style.red(`    - ${before}`))
    out.line(style.green(`    + ${after}`))
  }
  if (fields.includes('kind')) both(`kind ${found.kind}`, `kind ${wanted.kind}`)
  if (fields.includes('ttl')) both(`ttl ${found.ttlMs} ms`, `ttl ${wanted.ttlMs} ms`)
  if (fields.includes('acl'))
    both(`acl ${aclTexts(found.acl!).join(',')}`, `acl ${aclTexts(wanted.acl!).join(',')}`)
  if (!fields.includes('data')) return
  const [before, after] = [dataText(found.data!), dataText(wanted.data!)]
  if (before === undefined || after === undefined) {
    both(`${found.data!.length} bytes`, `${wanted.data!.length} bytes`)
    return
  }
  for (const { sign, text } of lineDiff(before, after)) {
    const line = `    ${sign} ${text}`
    out.line(sign === '-' ? style.red(line) : sign === '+' ? style.green(line) : style.dim(line))
  }
}

function dataText(data: Uint8Array): string | undefined {
  return data === noData ? '(no data)' : textOf(data)
}

function described({ kind, data }: TreeNode): string {
  const parts = [
    kind === undefined || kind === 'persistent' ? '' : kind,
    data === undefined || data.length === 0 ? '' : sizeText(data.length),
  ].filter((part) => part !== '')
  return parts.length === 0 ? '' : `  (${parts.join(', ')})`
}

/** `3 to create, 1 to change, 2 to delete`. */
export function sums(differences: readonly Difference[]) {
  const count = (type: Difference['type']): number =>
    differences.filter((one) => one.type === type).length
  return { create: count('missing'), update: count('different'), delete: count('extra') }
}

export function sumsText({ create, update, delete: deletions }: ReturnType<typeof sums>): string {
  return `${counted(create, 'node')} to create, ${update} to change, ${deletions} to delete`
}
