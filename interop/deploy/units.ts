import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { loadConfig } from '@zabra/server'
import { runTool } from '../src/tools.ts'
import { mkdir } from './base-systems.ts'
import { clean, deploy, goTool, MissingTool, repository } from './tools.ts'

/** The maximum exposure of the service, by systemd's own measure from 0 to 10. */
const exposureMax = 2.5

/** systemd accepts the unit, and rates it as well confined. */
export async function checkUnit(folder: string): Promise<string> {
  const { ok } = await runTool('systemd-analyze', ['--version'])
  if (!ok) throw new MissingTool('there is no systemd-analyze')
  const text = readFileSync(join(deploy, 'systemd/zabra.service'), 'utf8')
  // The command must exist where the unit is verified.
  const installed = '/opt/zabra/bin/zabra'
  if (!text.includes(`ExecStart=${installed} `))
    throw new Error(`the unit does not run ${installed}`)
  const file = join(mkdir(join(folder, 'systemd')), 'zabra.service')
  writeFileSync(file, text.replace(installed, join(repository, 'bin/zabra')))
  const said = await clean('systemd-analyze', ['verify', '--man=no', file])
  if (said.includes('zabra.service')) throw new Error(said)
  const report = await runTool('systemd-analyze', ['security', '--offline=true', file])
  const exposure = Number(/exposure level for zabra.service: ([\d.]+)/.exec(report.output)?.[1])
  if (!(exposure <= exposureMax)) throw new Error(`exposed: ${report.output.slice(-3000)}`)
  return `verified, exposure ${exposure} of 10`
}

/** The server accepts each shipped zoo.cfg without a warning. */
export async function checkConfigurations(): Promise<string> {
  const files = ['systemd/zoo.cfg', 'kubernetes/zoo.cfg']
  for (const file of files) {
    const { config, diagnostics } = loadConfig({
      file: join(deploy, file),
      env: { ZABRA_MYID: '1' },
      overrides: {},
    })
    const said = diagnostics.map(({ message }) => message)
    if (config === undefined || said.length > 0) throw new Error(`${file}: ${said.join('\n')}`)
  }
  return files.join(', ')
}

/** The linter of GitHub workflows reports nothing. */
export async function checkWorkflows(): Promise<string> {
  const actionlint = await goTool(
    'actionlint',
    'github.com/rhysd/actionlint/cmd/actionlint@v1.7.12',
  )
  const workflow = join(repository, '.github/workflows/release.yml')
  await clean(actionlint, ['-shellcheck=', '-pyflakes=', workflow])
  return 'release.yml'
}

/** Checks that need a container engine. */
export async function needsContainerEngine(): Promise<string> {
  const { ok } = await runTool('docker', ['info'], { timeoutMs: 10_000 })
  if (!ok)
    throw new MissingTool('no container engine answers; the Dockerfile was carried out by hand')
  await clean('docker', ['build', '-f', join(deploy, 'docker/Dockerfile'), repository])
  return 'built'
}

export async function needsSystemd(): Promise<string> {
  const why = existsSync('/run/systemd/system')
    ? 'this suite installs no service; the unit was only verified'
    : 'systemd does not run this machine; the unit was only verified'
  throw new MissingTool(why)
}

export async function needsGrafana(): Promise<string> {
  throw new MissingTool('Grafana is in no registry here; its queries were asked of Prometheus')
}
