import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { cacheDir } from '../../src/apache.ts'
import { installDebian, runTool } from '../../src/tools.ts'
import { everyday } from '../catalogue.ts'
import { unprepared, type Client } from '../client.ts'
import { converse } from '../conversation.ts'

/** Apache's C client, as Debian packages it. */
export const cClient: Client = {
  name: 'c',
  checks: everyday,
  async prepare() {
    const dir = join(cacheDir, 'build', 'c')
    const program = join(dir, 'client')
    await mkdir(dir, { recursive: true })
    const source = join(import.meta.dirname, 'client.c')
    const args = ['-O1', '-Wall', '-o', program, source, '-lzookeeper_mt', '-lpthread']
    const compile = () => runTool('gcc', args, { timeoutMs: 60_000 })
    let compiled = await compile()
    if (!compiled.ok) {
      const installed = await installDebian(['gcc', 'libc6-dev', 'libzookeeper-mt-dev'])
      if (!installed.ok) return unprepared('apt-get has no libzookeeper-mt-dev', installed.output)
      compiled = await compile()
    }
    if (!compiled.ok) return unprepared('gcc failed', compiled.output)
    const query = ['-W', '-f', '${Version}', 'libzookeeper-mt-dev']
    const { ok, output } = await runTool('dpkg-query', query)
    const version = ok ? (output.split('-')[0] ?? '?') : '?'
    return { ok: true, version, run: (server) => converse([program], everyday, server) }
  },
}
