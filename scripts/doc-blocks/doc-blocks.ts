/**
 * The TypeScript of the documents, as programs: what a reader copies must compile and run.
 *
 * A block that imports nothing is given a connected `client` and whatever it names of
 * `@zabra/client`. A comment before a block, `<!-- before: ... -->`, runs first and is not shown.
 * `127.0.0.1:2181` stands for whatever server there is.
 */
import { readFileSync } from 'node:fs'
import * as clientModule from '@zabra/client'

export interface DocBlock {
  readonly document: string
  /** Where it begins, counted from 1. */
  readonly line: number
  readonly program: string
}

const fence = /(?:<!-- before: ([^]*?) -->\n+)?^```ts\n([^]*?)^```$/gm
const placeholder = '127.0.0.1:2181'
const hasImport = /^import /m

export function readBlocks(document: string, file: string): DocBlock[] {
  const text = readFileSync(file, 'utf8')
  return [...text.matchAll(fence)].map((match) => {
    const [all, before = '', code = ''] = match
    const codeStart = match.index + all.lastIndexOf('```ts')
    const line = text.slice(0, codeStart).split('\n').length + 1
    return { document, line, program: programOf(before, code) }
  })
}

/** The same against a server that is there. */
export function against({ program }: DocBlock, servers: string): string {
  return program.replaceAll(placeholder, servers)
}

function programOf(before: string, code: string): string {
  if (hasImport.test(code)) return `${code}\nexport {}\n`
  const body = `${before}\n${code}`
  const names = Object.keys(clientModule).filter((name) => new RegExp(`\\b${name}\\b`).test(body))
  const imports = [...new Set(['connect', ...names])].join(', ')
  return [
    `import { ${imports} } from '@zabra/client'`,
    `await using client = await connect('${placeholder}')`,
    body,
    'export {}',
    '',
  ].join('\n')
}
