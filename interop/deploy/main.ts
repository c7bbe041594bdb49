/**
 * Tests deploy/ as far as possible without a container engine: executes the Dockerfile step by
 * step, and runs its image in kernel namespaces, as one server, as the Compose file and as the
 * StatefulSet describe, each restarted server by server while clients work. It checks manifests
 * with their schemas, alerts with promtool, and the dashboard's queries with a real Prometheus.
 *
 *     npm run test:deploy -- [--only TEXT] [--keep]
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { report, runAll, type Check } from '../src/checks.ts'
import { ensureTool, say } from '../src/tools.ts'
import { composeService, readCompose } from './compose.ts'
import { tryContainer } from './container.ts'
import { buildImage, type Image } from './image.ts'
import { agree, fitsSchemas, statefulService } from './kubernetes.ts'
import { dashboardIsFresh, explained, testRules, watchEnsemble } from './monitoring.ts'
import { restartAllOf } from './rolling-restart.ts'
import { check, deploy, MissingTool, repository } from './tools.ts'
import {
  checkConfigurations,
  checkUnit,
  checkWorkflows,
  needsContainerEngine,
  needsGrafana,
  needsSystemd,
} from './units.ts'

const { values } = parseArgs({
  options: { keep: { type: 'boolean', default: false }, only: { type: 'string', default: '' } },
})

let built: Promise<Image> | undefined
const folder = mkdtempSync(join(tmpdir(), 'zabra-deploy-'))
try {
  report(await runAll(checks().filter(({ name }) => name.includes(values.only))))
} finally {
  if (values.keep) say(`kept: ${folder}`)
  else rmSync(folder, { recursive: true })
}

function checks(): Check[] {
  return [
    check('zoo.cfg: understood', checkConfigurations),
    check('release workflow', checkWorkflows),
    check('image: the Dockerfile, step by step', async () => {
      const { root } = await image()
      return `built in ${root.startsWith(folder) ? 'a clean root' : root}`
    }),
    check('image: one server', async () => tryContainer(await image(), folder)),
    check('image: built by Docker', needsContainerEngine),
    check('Compose: the file', async () => {
      const { services } = await readCompose()
      return Object.keys(services).join(', ')
    }),
    check('Compose: rolling restart', async () => {
      const service = composeService(await readCompose(), await image(), folder)
      return restartAllOf(service, join(folder, 'compose-hosts'))
    }),
    check('Kubernetes: the schemas', () => fitsSchemas(folder)),
    check('Kubernetes: the manifests agree', () => agree(folder)),
    check('Kubernetes: rolling restart', async () => {
      const service = await statefulService(await image(), folder)
      return restartAllOf(service, join(folder, 'kubernetes-hosts'))
    }),
    check('systemd: the unit', () => checkUnit(folder)),
    check('systemd: started by it', needsSystemd),
    check('Prometheus: the rules', testRules),
    check('Prometheus: the alerts are explained', async () =>
      explained(readFileSync(join(repository, 'docs/monitoring.md'), 'utf8')),
    ),
    check('Grafana: the dashboard is the one that its program makes', async () =>
      dashboardIsFresh(),
    ),
    check('Prometheus: on an ensemble', () => watchEnsemble(folder)),
    check('Grafana: imported', needsGrafana),
  ]
}

/** Built on first use. */
function image(): Promise<Image> {
  built ??= build()
  return built
}

async function build(): Promise<Image> {
  if (process.platform !== 'linux' || process.getuid?.() !== 0)
    throw new MissingTool('namespaces and chroot need Linux and root')
  for (const [tool, debian] of [
    ['unshare', 'util-linux'],
    ['ip', 'iproute2'],
    ['ldd', 'libc-bin'],
  ] as const)
    if (!(await ensureTool(tool, [debian]))) throw new MissingTool(`there is no ${tool}`)
  say(`building the image of ${join(deploy, 'docker/Dockerfile')}`)
  return buildImage(repository, 'deploy/docker/Dockerfile', folder)
}
