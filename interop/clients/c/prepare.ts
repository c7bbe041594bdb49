import { mkdir } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { cacheDir } from '../../src/apache.ts'
import { installDebian, runTool } from '../../src/tools.ts'
import { everyday } from '../catalogue.ts'
import { unprepared, type Client, type Program, type UnpreparedClient } from '../client.ts'
import { converse } from '../conversation.ts'

/** Apache's C client, as Debian packages it. */
export const cClient: Client = {
  name: 'c',
  checks: everyday,
  async prepare() {
    const compiled = await compileC(join(import.meta.dirname, 'client.c'))
    if (!compiled.ok) return compiled
    const query = ['-W', '-f', '${Version}', 'libzookeeper-mt-dev']
    const { ok, output } = await runTool('dpkg-query', query)
    const version = ok ? (output.split('-')[0] ?? '?') : '?'
    return { ok: true, version, run: (server) => converse([compiled.program], everyday, server) }
  },
}

/** Compiles a program that uses it. */
export async function compileC(source: string): Promise<Program | UnpreparedClient> {
  const dir = join(cacheDir, 'build', 'c')
  const program = join(dir, basename(source, '.c'))
  await mkdir(dir, { recursive: true })
  const args = ['-O1', '-Wall', '-o', program, source, '-lzookeeper_mt', '-lpthread']
  const compile = () => runTool('gcc', args, { timeoutMs: 60_000 })
  let compiled = await compile()
  if (!compiled.ok) {
    const installed = await installDebian(['gcc', 'libc6-dev', 'libzookeeper-mt-dev'])
    if (!installed.ok) return unprepared('apt-get has no libzookeeper-mt-dev', installed.output)
    compiled = await compile()
  }
  return compiled.ok ? { ok: true, program } : unprepared('gcc failed', compiled.output)
}
