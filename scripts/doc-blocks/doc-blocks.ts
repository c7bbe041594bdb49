/**
 * The programs in the documents: what a reader copies must compile and run.
 *
 * A block without imports gets a connected `client` and every name of `@zabra/client` that it uses.
 * A comment before a block, `<!-- before: ... -->`, runs first; one after it, `<!-- after: ...
 * -->`, runs last; neither is shown. `127.0.0.1:2181` is replaced by the address of a running
 * server, `clientPort: 2181` by a free port.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import * as clientModule from '@zabra/client'

export type Language = 'ts' | 'js' | 'python'

export interface DocBlock {
  readonly document: string
  /** The line where it begins, counted from 1. */
  readonly line: number
  readonly language: Language
  readonly program: string
}

const fence =
  /(?:<!-- before: ([^]*?) -->\n+)?^```(ts|js|python)\n([^]*?)^```$(?:\n+<!-- after: ([^]*?) -->)?/gm
const placeholder = '127.0.0.1:2181'
const hasImport = /^import /m
/** Folders without documents of this project. */
const elsewhere = /^(?:\..*|node_modules|dist|data|work)$/

/** All documents of the repository, as paths relative to its root. */
export function documentsOf(root: string, folder = ''): string[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) return elsewhere.test(entry.name) ? [] : documentsOf(root, path)
    return entry.name.endsWith('.md') ? [path] : []
  })
}

export function readBlocks(root: string, document: string): DocBlock[] {
  const text = readFileSync(join(root, document), 'utf8')
  return [...text.matchAll(fence)].map((match) => {
    const [all, before = '', name = '', code = '', after = ''] = match
    const language = name as Language
    const codeStart = match.index + all.indexOf(`\`\`\`${language}\n`)
    const line = text.slice(0, codeStart).split('\n').length + 1
    const program = isForeign({ language, program: code }) ? code : programOf(before, code, after)
    return { document, line, language, program }
  })
}

const foreignPackage = /\b(?:from|require\() ?'(?:node-zookeeper-client|redlock|etcd3)'/

/**
 * Whether it uses another client. `npm run test:clients` installs those clients and runs their
 * blocks.
 */
export function isForeign({ language, program }: Pick<DocBlock, 'language' | 'program'>): boolean {
  return language === 'python' || foreignPackage.test(program)
}

/** Whether vitest has to run it. */
export function isTest({ program }: DocBlock): boolean {
  return program.includes(`from 'vitest'`)
}

/** The same program for a server at another address. */
export function against({ program }: DocBlock, servers: string): string {
  return program.replaceAll(placeholder, servers).replaceAll('clientPort: 2181', 'clientPort: 0')
}

function programOf(before: string, code: string, after: string): string {
  const body = [before, code, after].filter((part) => part !== '').join('\n')
  if (hasImport.test(body)) return `${body}\nexport {}\n`
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
