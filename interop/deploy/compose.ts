import { join } from 'node:path'
import type { Image } from './image.ts'
import { Pod } from './pod.ts'
import type { Service } from './rolling-restart.ts'
import { clean, deploy, goTool } from './tools.ts'

interface ComposeFile {
  readonly services: Readonly<Record<string, ComposeService>>
}

interface ComposeService {
  readonly environment: Readonly<Record<string, string>>
  readonly healthcheck: { readonly test: readonly string[] }
  readonly read_only: boolean
  readonly cap_drop: readonly string[]
  readonly volumes: readonly { readonly target: string }[]
}

/** The Compose file as Docker's own parser reads it, checked against its schema. */
export async function readCompose(): Promise<ComposeFile> {
  const reader = await goTool('compose-go', 'github.com/compose-spec/compose-go/v2/cmd@v2.16.2')
  const args = ['-format', 'json', join(deploy, 'compose/compose.yaml')]
  return JSON.parse(await clean(reader, args)) as ComposeFile
}

/** The services of the Compose file, started without Docker. */
export function composeService({ services }: ComposeFile, image: Image, folder: string): Service {
  const probeOf = new Map<Pod, readonly string[]>()
  return {
    names: Object.keys(services).toSorted(),
    graceMs: 60_000,
    start: async (name, network) => {
      const { environment, healthcheck, read_only, cap_drop, volumes } = services[name]!
      // Pod always runs read-only and without capabilities.
      if (!read_only || cap_drop.join() !== 'ALL') throw new Error(`${name} has more rights`)
      if (volumes.map(({ target }) => target).join() !== image.volumes.join())
        throw new Error(`${name} does not mount ${image.volumes.join()}`)
      const dataDir = join(folder, `compose-${name}`)
      const pod = await Pod.start(network, { image, env: environment, dataDir })
      const [kind, ...command] = healthcheck.test
      if (kind !== 'CMD') throw new Error(`${name}: the image has no shell for its health check`)
      probeOf.set(pod, command)
      return pod
    },
    ready: (pod) => pod.until('healthy', () => pod.exec(probeOf.get(pod)!)),
  }
}
