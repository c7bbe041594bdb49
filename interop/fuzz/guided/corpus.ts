import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { repositoryRoot } from './root.ts'

const here = join(repositoryRoot, 'interop', 'fuzz', 'guided')
const inputsMax = 300
const inputBytesMax = 2048

/** Inputs that once revealed a fault, one file each, in a folder for each target. */
export const foundFolder = join(here, 'found')

/** Inputs that cover most of a target, one line of base64 each. */
export function corpusOf(target: string): Uint8Array[] {
  const file = fileOf(target)
  if (!existsSync(file)) return []
  const lines = readFileSync(file, 'utf8').split('\n')
  return lines.filter((line) => line !== '').map((line) => Buffer.from(line, 'base64'))
}

export function writeCorpus(target: string, inputs: readonly Uint8Array[]): void {
  const kept = inputs.filter(({ length }) => length <= inputBytesMax).slice(0, inputsMax)
  const lines = kept.map((input) => `${Buffer.from(input).toString('base64')}\n`)
  writeFileSync(fileOf(target), lines.toSorted().join(''))
}

export function foundOf(target: string): { readonly name: string; readonly input: Uint8Array }[] {
  const folder = join(foundFolder, target)
  if (!existsSync(folder)) return []
  return readdirSync(folder)
    .toSorted()
    .map((name) => ({ name, input: readFileSync(join(folder, name)) }))
}

function fileOf(target: string): string {
  return join(here, 'corpus', `${target}.txt`)
}
