import { mkdir, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { cacheDir } from '../../../src/apache.ts'
import { ensureTool, installDebian, runTool } from '../../../src/tools.ts'

/**
 * The npm package that contains the sources of Apache's C client; Debian builds it without TLS and
 * SASL.
 */
const carrier = 'zookeeper@7.3.0'

/** Compiles the C program with TLS and SASL; returns its path, or the reason why that failed. */
export async function compileSecureC(): Promise<{ program: string } | { reason: string }> {
  const dir = join(cacheDir, 'build', 'c-secure')
  const sources = join(dir, 'zookeeper-client-c')
  const program = join(dir, 'secure_client')
  await mkdir(dir, { recursive: true })
  if (!(await ensureTool('cmake', ['cmake']))) return { reason: 'c: there is no cmake' }
  const installed = await installDebian([
    'gcc',
    'libc6-dev',
    'libssl-dev',
    'libsasl2-dev',
    'libsasl2-modules',
  ])
  if (!installed.ok) return { reason: `c: apt-get failed: ${installed.output}` }
  const packed = await runTool('npm', ['pack', carrier, '--silent'], {
    cwd: dir,
    timeoutMs: 120_000,
  })
  if (!packed.ok) return { reason: `c: npm has no ${carrier}: ${packed.output}` }
  for (const archive of [
    'zookeeper-7.3.0.tgz',
    join('package', 'deps', 'zookeeper-client-c.tar.gz'),
  ]) {
    const { ok, output } = await runTool('tar', ['xzf', archive], { cwd: dir })
    if (!ok) return { reason: `c: tar: ${output}` }
  }
  // Only for config.h: its own build finds SASL only with a module that is not in the archive.
  const configured = await runTool('cmake', [
    '-S',
    sources,
    '-B',
    join(dir, 'config'),
    '-DWANT_CPPUNIT=OFF',
  ])
  if (!configured.ok) return { reason: `c: cmake: ${configured.output}` }
  const names = [
    'zookeeper',
    'zk_sasl',
    'mt_adaptor',
    'recordio',
    'zk_log',
    'zk_hashtable',
    'addrvec',
  ]
  const hashtable = (await readdir(join(sources, 'src', 'hashtable')))
    .filter((name) => name.endsWith('.c'))
    .map((name) => join(sources, 'src', 'hashtable', name))
  const folders = [
    join(sources, 'include'),
    join(dir, 'config', 'include'),
    join(sources, 'generated'),
  ]
  const options = ['-O1', '-w', '-DTHREADED', '-DHAVE_OPENSSL_H', '-DHAVE_CYRUS_SASL_H']
  const files = [
    join(import.meta.dirname, 'secure_client.c'),
    ...names.map((name) => join(sources, 'src', `${name}.c`)),
    ...hashtable,
    join(sources, 'generated', 'zookeeper.jute.c'),
  ]
  const libraries = ['-lssl', '-lcrypto', '-lsasl2', '-lpthread', '-lm']
  const includes = folders.map((folder) => `-I${folder}`)
  const args = [...options, '-o', program, ...includes, ...files, ...libraries]
  const compiled = await runTool('gcc', args, { timeoutMs: 120_000 })
  return compiled.ok ? { program } : { reason: `c: gcc: ${compiled.output}` }
}
