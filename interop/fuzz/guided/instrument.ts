import { build } from 'esbuild'
import { parse, type AnyNode, type Literal, type Node } from 'acorn'
import { MagicString } from 'magic-string'

export interface Instrumented {
  /** A self-contained module; it counts branches in `globalThis.branchCounts`. */
  readonly code: string
  readonly branches: number
  /** Constants of the source, as bytes, which inputs may be compared with. */
  readonly dictionary: readonly Uint8Array[]
}

const tokenBytesMax = 32

/** Bundles a module with its imports, and counts each branch that is taken. */
export async function instrument(entry: string): Promise<Instrumented> {
  const bundled = await build({
    entryPoints: [entry],
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    conditions: ['@zabra/source'],
    legalComments: 'none',
    banner: {
      js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);",
    },
  })
  return instrumentSource(bundled.outputFiles[0]!.text)
}

/** Counts each branch of a module. */
export function instrumentSource(source: string): Instrumented {
  const program = parse(source, { ecmaVersion: 'latest', sourceType: 'module' })
  const text = new MagicString(source)
  const tokens = new Map<string, Uint8Array>()
  let branches = 0
  const count = (): string => `__n[${branches++}]++`

  const countExpression = (node: Node): void => {
    text.appendLeft(node.start, `(${count()},`)
    text.prependRight(node.end, ')')
  }
  const countStatement = (node: Node | null | undefined): void => {
    if (node == null) return
    if (node.type === 'BlockStatement') text.appendLeft(node.start + 1, `${count()};`)
    else {
      text.appendLeft(node.start, `{${count()};`)
      text.prependRight(node.end, '}')
    }
  }
  const visit = (node: AnyNode): void => {
    switch (node.type) {
      case 'FunctionDeclaration':
      case 'FunctionExpression':
      case 'ArrowFunctionExpression':
        if (node.body.type === 'BlockStatement') countStatement(node.body)
        else countExpression(node.body)
        break
      case 'IfStatement':
        countStatement(node.consequent)
        if (node.alternate?.type !== 'IfStatement') countStatement(node.alternate)
        break
      case 'ForStatement':
      case 'ForInStatement':
      case 'ForOfStatement':
      case 'WhileStatement':
      case 'DoWhileStatement':
        countStatement(node.body)
        break
      case 'CatchClause':
        countStatement(node.body)
        break
      case 'ConditionalExpression':
        countExpression(node.consequent)
        countExpression(node.alternate)
        break
      case 'LogicalExpression':
        countExpression(node.right)
        break
      case 'SwitchCase': {
        const first = node.consequent[0]
        if (first !== undefined) text.appendLeft(first.start, `${count()};`)
        break
      }
      case 'Literal':
        for (const bytes of bytesOfConstant(node)) {
          if (bytes.length <= tokenBytesMax) tokens.set(Buffer.from(bytes).toString('hex'), bytes)
        }
        break
    }
    for (const child of childrenOf(node)) visit(child)
  }
  visit(program)
  // Right after the imports, which come first in a bundle.
  text.prepend(`const __n = (globalThis.branchCounts = new Uint8Array(${branches}));\n`)
  return { code: text.toString(), branches, dictionary: [...tokens.values()] }
}

function childrenOf(node: AnyNode): AnyNode[] {
  const children: AnyNode[] = []
  for (const value of Object.values(node) as unknown[]) {
    for (const one of Array.isArray(value) ? (value as unknown[]) : [value]) {
      if (typeof one === 'object' && one !== null && 'type' in one) children.push(one as AnyNode)
    }
  }
  return children
}

function bytesOfConstant(node: Literal): Uint8Array[] {
  const { value } = node
  if (typeof value === 'string') return value.length < 2 ? [] : [Buffer.from(value)]
  const isWhole =
    typeof value === 'bigint' || (typeof value === 'number' && Number.isSafeInteger(value))
  if (!isWhole || BigInt(value) > 0xffff_ffff_ffff_ffffn) return []
  const long = Buffer.alloc(8)
  long.writeBigUInt64BE(BigInt(value))
  return BigInt(value) > 0xffff_ffffn ? [long] : [long.subarray(4)]
}
