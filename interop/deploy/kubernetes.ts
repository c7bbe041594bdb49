import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Image } from './image.ts'
import { Pod, writeConfig } from './pod.ts'
import type { Service } from './rolling-restart.ts'
import { clean, deploy, goTool, python } from './tools.ts'

/** The releases of Kubernetes whose schemas the manifests must match. */
const releases = ['1.31', '1.34', '1.37']

interface Manifest {
  readonly kind: string
  readonly metadata: { readonly name: string }
  readonly spec?: unknown
  readonly data?: Readonly<Record<string, string>>
}

type Labels = Readonly<Record<string, string>>

interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string }
}

interface StatefulSet {
  readonly replicas: number
  readonly serviceName: string
  readonly ordinals: { readonly start: number }
  readonly podManagementPolicy: string
  readonly selector: { readonly matchLabels: Labels }
  readonly template: {
    readonly metadata: { readonly labels: Labels }
    readonly spec: {
      readonly terminationGracePeriodSeconds: number
      readonly securityContext: { readonly runAsUser: number; readonly runAsGroup: number }
      readonly containers: readonly [
        {
          readonly args: readonly string[]
          readonly env: readonly {
            readonly name: string
            readonly valueFrom: { readonly fieldRef: { readonly fieldPath: string } }
          }[]
          readonly ports: readonly { readonly name: string; readonly containerPort: number }[]
          readonly startupProbe: Probe
          readonly livenessProbe: Probe
          readonly readinessProbe: Probe
          readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[]
        },
      ]
      readonly volumes: readonly {
        readonly name: string
        readonly configMap?: { readonly name: string }
      }[]
    }
  }
}

export interface Manifests {
  readonly all: readonly Manifest[]
  readonly set: StatefulSet
}

/** The manifests that `kubectl apply -k` would send. */
async function readManifests(folder: string): Promise<Manifests> {
  const kustomize = await goTool('kustomize', 'sigs.k8s.io/kustomize/kustomize/v5@v5.6.0')
  const file = join(folder, 'kubernetes.yaml')
  writeFileSync(file, await clean(kustomize, ['build', join(deploy, 'kubernetes')]))
  const script =
    'import json,sys,yaml; print(json.dumps(list(yaml.safe_load_all(open(sys.argv[1])))))'
  const { ok, output } = await python(['-c', script, file])
  if (!ok) throw new Error(output)
  const all = JSON.parse(output) as Manifest[]
  return { all, set: specOf<StatefulSet>(all, 'StatefulSet') }
}

/** Every manifest matches the schemas of each release, without unknown fields. */
export async function fitsSchemas(folder: string): Promise<string> {
  const { all } = await readManifests(folder)
  for (const release of releases) {
    const args = ['-m', 'kubernetes_validate', '--strict', '--kubernetes-version', release]
    const { ok, output } = await python([...args, join(folder, 'kubernetes.yaml')])
    const passed = output.split('\n').filter((line) => line.includes(' passed ')).length
    if (!ok || passed !== all.length) throw new Error(`Kubernetes ${release}: ${output}`)
  }
  return `${all.length} manifests, Kubernetes ${releases.join(', ')}`
}

/** The manifests are consistent in what schemas do not check: selectors, ports, names. */
export async function agree(folder: string): Promise<string> {
  const { all, set } = await readManifests(folder)
  const { labels } = set.template.metadata
  const [container] = set.template.spec.containers
  const ports = new Set(container.ports.map(({ name }) => name))
  const problems: string[] = []
  const expectSelects = (what: string, selector: Labels): void => {
    for (const [key, value] of Object.entries(selector))
      if (labels[key] !== value) problems.push(`${what} does not select the pods by ${key}`)
  }
  expectSelects('the StatefulSet', set.selector.matchLabels)
  for (const { kind, metadata, spec } of all) {
    if (kind === 'Service') {
      const service = spec as { selector: Labels; ports: { targetPort: string }[] }
      expectSelects(`Service ${metadata.name}`, service.selector)
      for (const { targetPort } of service.ports)
        if (!ports.has(targetPort)) problems.push(`Service ${metadata.name}: no port ${targetPort}`)
    }
    if (kind === 'PodDisruptionBudget') {
      const budget = spec as { selector: { matchLabels: Labels }; maxUnavailable: number }
      expectSelects('the PodDisruptionBudget', budget.selector.matchLabels)
      if (budget.maxUnavailable >= set.replicas / 2) problems.push('the budget allows no quorum')
    }
    if (kind === 'NetworkPolicy') {
      const policy = spec as {
        podSelector: { matchLabels: Labels }
        ingress: { ports: { port: string }[] }[]
      }
      expectSelects('the NetworkPolicy', policy.podSelector.matchLabels)
      const open = policy.ingress.flatMap((rule) => rule.ports.map(({ port }) => port))
      for (const port of ports)
        if (!open.includes(port)) problems.push(`nobody may reach the port ${port}`)
    }
  }
  for (const probe of [container.startupProbe, container.livenessProbe, container.readinessProbe])
    if (!ports.has(probe.httpGet.port)) problems.push(`no port ${probe.httpGet.port} to probe`)
  const headless = all.find(
    ({ kind, metadata }) => kind === 'Service' && metadata.name === set.serviceName,
  )
  const isEarly = (headless?.spec as { publishNotReadyAddresses?: boolean } | undefined)
    ?.publishNotReadyAddresses
  if (isEarly !== true) problems.push('names of pods are not published before they are ready')
  for (const { host, number } of serversOf(all, set))
    if (!host.endsWith(`-${number}.${set.serviceName}`))
      problems.push(`server.${number} is ${host}, which is another pod`)
  if (problems.length > 0) throw new Error(problems.join('\n'))
  return `${all.length} manifests`
}

/** Runs the StatefulSet without Kubernetes: numbered pods, updated from the last to the first. */
export async function statefulService(image: Image, folder: string): Promise<Service> {
  const { all, set } = await readManifests(folder)
  const { spec } = set.template
  const [container] = spec.containers
  const { runAsUser, runAsGroup } = spec.securityContext
  const { data } = all.find(({ kind }) => kind === 'ConfigMap')!
  const configDir = writeConfig(join(folder, 'kubernetes-config'), data!)
  const { path, port } = container.readinessProbe.httpGet
  const probed = container.ports.find(({ name }) => name === port)!.containerPort
  const first = set.ordinals.start
  const hosts = new Map(serversOf(all, set).map(({ host, number }) => [host, number]))
  return {
    names: [...hosts.keys()].toReversed(),
    graceMs: spec.terminationGracePeriodSeconds * 1000,
    start: (name, network) => {
      const index = String(hosts.get(name)!)
      if (Number(index) < first) throw new Error(`there is no pod ${index}`)
      const env = container.env.map(({ name: variable, valueFrom }) => {
        const label = "metadata.labels['apps.kubernetes.io/pod-index']"
        if (valueFrom.fieldRef.fieldPath !== label) throw new Error(`${variable} is not known here`)
        return [variable, index] as const
      })
      const options = { env: Object.fromEntries(env), args: container.args, configDir }
      const dataDir = join(folder, `kubernetes-data-${index}`)
      const user = `${runAsUser}:${runAsGroup}`
      return Pod.start(network, { image: { ...image, user }, dataDir, ...options })
    },
    ready: (pod) => pod.until('ready', () => pod.probe(probed, path)),
  }
}

/** The servers that the ConfigMap lists. */
function serversOf(
  all: readonly Manifest[],
  set: StatefulSet,
): { readonly host: string; readonly number: number }[] {
  const { data } = all.find(({ kind }) => kind === 'ConfigMap')!
  const lines = data!['zoo.cfg']!.matchAll(/^server\.(\d+)=([^:]+):/gm)
  const servers = [...lines].map(([, number, host]) => ({ host: host!, number: Number(number) }))
  if (servers.length !== set.replicas)
    throw new Error(`${servers.length} servers are listed, but there are ${set.replicas} pods`)
  return servers
}

function specOf<Spec>(all: readonly Manifest[], kind: string): Spec {
  const found = all.find((manifest) => manifest.kind === kind)
  if (found === undefined) throw new Error(`there is no ${kind}`)
  return found.spec as Spec
}
