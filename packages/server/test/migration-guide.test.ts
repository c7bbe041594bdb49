import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { formatDiagnostic, loadConfig } from '../src/config/config.ts'
import { inTemporaryFolder } from './support/server-process.ts'

const guide = join(dirname(fileURLToPath(import.meta.url)), '../../../docs/migration.md')

/** The commands that check a configuration, before the one that starts the server. */
function preparations(dir: string): string {
  const [, block = ''] = /```\n( *mkdir \/tmp\/try\n[^]*?) *zabra server/.exec(
    readFileSync(guide, 'utf8'),
  )!
  return block.replaceAll(/\/(?=tmp|var|etc)/g, `${dir}/`)
}

test('the server that the migration guide tries joins no ensemble', async () => {
  await inTemporaryFolder(async (dir) => {
    const at = (path: string): string => join(dir, path)
    const folders = ['tmp', 'etc/zookeeper/conf', 'var/lib/zookeeper', 'var/lib/zookeeper-logs']
    for (const folder of folders) mkdirSync(at(`${folder}/version-2`), { recursive: true })
    writeFileSync(at('var/lib/zookeeper/version-2/snapshot.0'), '')
    writeFileSync(at('var/lib/zookeeper/myid'), '1\n')
    writeFileSync(at('var/lib/zookeeper-logs/version-2/log.1'), '')
    const servers = [1, 2, 3].map((id) => `server.${id}=host${id}:2888:3888;2181\n`).join('')
    const dynamic = at('etc/zookeeper/conf/zoo.cfg.dynamic.100000000')
    writeFileSync(dynamic, servers)
    writeFileSync(
      at('etc/zookeeper/conf/zoo.cfg'),
      `tickTime=2000\ninitLimit=10\nsyncLimit=5\n  dataDir=${at('var/lib/zookeeper')}
dataLogDir=${at('var/lib/zookeeper-logs')}\n\tdynamicConfigFile=${dynamic}
zookeeper.clientPort=2181\nclientPortAddress=192.0.2.1\nstandaloneEnabled=false\n ${servers}
group.1=1:2:3\n\tweight.1=1\nsnapCount=5000\n`,
    )
    execFileSync('sh', ['-ec', preparations(dir)])

    expect(existsSync(at('tmp/try/version-2/snapshot.0'))).toBe(true)
    expect(existsSync(at('tmp/try/version-2/log.1'))).toBe(true)
    expect(existsSync(at('tmp/try/myid'))).toBe(false)
    const { config, diagnostics } = loadConfig({
      file: at('tmp/try.cfg'),
      env: {},
      overrides: { dataDir: at('tmp/try'), clientPort: 12_181, 'admin.serverPort': 18_080 },
    })
    expect(diagnostics.map(formatDiagnostic)).toEqual([])
    expect(config).toMatchObject({ ensemble: undefined, clientPort: 12_181, snapCount: 5000 })
    expect(config?.clientPortAddress).toBeUndefined()
    expect(config?.dataLogDir).toBe(at('tmp/try'))
  })
})
