import type { Options } from '../framework/command.ts'

/** Where the past is read: from a server, or from the files of one. */
export const sourceOptions = {
  admin: {
    type: 'text',
    value: 'URL',
    help: 'admin port of the server to ask (default: asked of the server)',
  },
  dataDir: {
    type: 'text',
    value: 'DIR',
    kind: 'file',
    help: 'read the files of a server instead, zabra or Apache ZooKeeper',
  },
  dataLogDir: {
    type: 'text',
    value: 'DIR',
    kind: 'file',
    help: 'directory of its transaction logs (default: beside the snapshots)',
  },
} as const satisfies Options

export interface SourceValues {
  readonly admin?: string
  readonly dataDir?: string
  readonly dataLogDir?: string
}
