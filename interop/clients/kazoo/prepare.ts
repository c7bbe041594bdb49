import { join } from 'node:path'
import { installPython } from '../../src/python.ts'
import { everyday } from '../catalogue.ts'
import type { Client, Program, UnpreparedClient } from '../client.ts'
import { converse } from '../conversation.ts'

export const kazooVersion = '2.11.0'

/** kazoo from PyPI, in a separate virtual environment. */
export const kazoo: Client = {
  name: 'kazoo',
  checks: everyday,
  async prepare() {
    const found = await pythonWithKazoo()
    if (!found.ok) return found
    const command = [found.program, join(import.meta.dirname, 'client.py')]
    return { ok: true, version: kazooVersion, run: (server) => converse(command, everyday, server) }
  },
}

/** A Python that can import it. */
export async function pythonWithKazoo(): Promise<Program | UnpreparedClient> {
  const installed = await installPython(`kazoo-${kazooVersion}`, [`kazoo==${kazooVersion}`])
  return installed.ok ? { ok: true, program: join(installed.bin, 'python') } : installed
}
