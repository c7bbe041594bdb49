/**
 * The examples in the doc comments of published packages: lines that are indented by four spaces, as
 * in Markdown. Blocks that begin with a path show the layout of nodes, and are no examples.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export interface SourceExample {
  /** The file, in the repository. */
  readonly file: string
  /** Where the code begins, counted from 1. */
  readonly line: number
  readonly code: string
}

export interface Documented {
  /** The class of a method, before the name of it: `Client.get`. */
  readonly name: string
  /** Called, not read. */
  readonly isMethod: boolean
  readonly examples: readonly SourceExample[]
}

/** Packages for programs, and the folders of their sources. */
export const examplePackages = ['client', 'recipes', 'testing'] as const

/** A comment, and the line behind it. */
const commented = /^( *)\/\*\*((?:(?!\*\/)[^])*)\*\/\n((?: *\/\/.*\n)*)(.*)$/gm
const declaration =
  /^export (?:default )?(?:declare )?(?:abstract )?(?:async )?(?:class|function|const|interface|type) (\w+)/
const member = /^ {2}(?:static )?(?:async )?(?:get )?\*?(\w+)(?:<[^(]*>)?\(/

/** Everything in the sources of a package that has a doc comment, and what it shows. */
export function documentedIn(root: string, packageName: string): Documented[] {
  const folder = join('packages', packageName, 'src')
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
    .flatMap((file) => documentedOf(root, join(folder, file)))
}

function documentedOf(root: string, file: string): Documented[] {
  const source = readFileSync(join(root, file), 'utf8')
  let owner = ''
  return [...source.matchAll(commented)].map((match) => {
    const [all, indent = '', comment = '', , next = ''] = match
    const own = declaration.exec(next)?.[1]
    if (indent === '') owner = own ?? ''
    const method = member.exec(next)?.[1]
    const name = own ?? (method === undefined ? '' : `${owner}.${method}`)
    const firstLine = source.slice(0, match.index + all.indexOf(comment)).split('\n').length
    const isMethod = own === undefined && !/^ *(?:static )?get /.test(next)
    return { name, isMethod, examples: examplesOf(file, firstLine, comment) }
  })
}

/** Begins with a path, not with a comment. */
function isLayout(code: string): boolean {
  return /^\/(?!\/)/.test(code)
}

function examplesOf(file: string, firstLine: number, comment: string): SourceExample[] {
  const lines = comment.split('\n').map((line) => line.replace(/^\s*\* ?/, ''))
  const examples: SourceExample[] = []
  let block: string[] = []
  const end = (next: number): void => {
    const code = block.join('\n').trimEnd()
    if (code !== '' && !isLayout(code))
      examples.push({ file, line: firstLine + next - block.length, code: `${code}\n` })
    block = []
  }
  for (const [i, line] of [...lines, 'end'].entries()) {
    const isShown = line.startsWith('    ')
    if (isShown && block.at(-1) === '' && isLayout(line.trimStart())) end(i)
    if (isShown) block.push(line.slice(4))
    else if (line === '' && block.length > 0) block.push('')
    else end(i)
  }
  return examples
}
