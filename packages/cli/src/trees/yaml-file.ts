import { Document, parse, stringify, YAMLParseError } from 'yaml'
import { CommandError } from '../framework/errors.ts'
import type { FileHead, FileNode } from './tree-file.ts'

/** The head of a YAML file; its nodes follow, one after another. */
export function yamlHead(head: FileHead): string {
  return `${stringify(head)}nodes:\n`
}

/** A node of a YAML file. */
export function yamlNode(path: string, node: FileNode): string {
  const document = new Document({ [path]: node })
  const text = document.toString({ lineWidth: 0, flowCollectionPadding: false })
  return text.replaceAll(/^(?=.)/gm, '  ')
}

/** A whole file. */
export function parseYaml(text: string, where: string): unknown {
  try {
    // YAML 1.2: `no` and `on` are texts.
    return parse(text, { version: '1.2', uniqueKeys: true, maxAliasCount: 100 })
  } catch (error) {
    if (!(error instanceof YAMLParseError)) throw error
    throw new CommandError(`${where}: ${error.message.split('\n')[0]}`, {
      code: 'file',
      cause: error,
    })
  }
}
