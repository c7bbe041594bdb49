import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { cacheDir } from '../../src/apache.ts'
import { ensureTool, runTool, type ToolResult } from '../../src/tools.ts'
import { everyday } from '../catalogue.ts'
import { unprepared, type Client } from '../client.ts'
import { converse } from '../conversation.ts'

/** go-zookeeper, in the version of `go.mod`. */
export const goClient: Client = {
  name: 'go-zookeeper',
  checks: everyday,
  async prepare() {
    if (!(await ensureTool('go', ['golang-go']))) {
      return unprepared('there is no go', 'apt-get could not install it')
    }
    const program = join(cacheDir, 'build', 'go', 'client')
    await mkdir(join(cacheDir, 'build', 'go'), { recursive: true })
    const built = await go(import.meta.dirname, 'build', '-o', program, '.')
    if (!built.ok) return unprepared('go build failed', built.output)
    const listed = await go(
      import.meta.dirname,
      'list',
      '-m',
      '-f',
      '{{.Version}}',
      'github.com/go-zookeeper/zk',
    )
    const version = listed.output.trim().replace(/^v/, '')
    return { ok: true, version, run: (server) => converse([program], everyday, server) }
  },
}

/** Modules go to the cache, writable so that they can be deleted. */
export function go(cwd: string, ...args: readonly string[]): Promise<ToolResult> {
  const env = [`GOPATH=${join(cacheDir, 'go')}`, 'GOFLAGS=-modcacherw']
  return runTool('env', [...env, 'go', ...args], { timeoutMs: 240_000, cwd })
}
