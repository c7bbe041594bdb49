import { copyFileSync, cpSync, existsSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { makeBase, mkdir, must } from './base-systems.ts'
import { isIgnored, parseDockerfile, type Instruction, type Stage } from './dockerfile.ts'

/** A root file system, and how to run it. */
export interface Image {
  readonly root: string
  readonly env: Record<string, string>
  user: string
  workdir: string
  entrypoint: readonly string[]
  cmd: readonly string[]
  healthcheck: readonly string[]
  readonly volumes: string[]
}

/**
 * Executes a Dockerfile without a container engine: each stage gets its own root, in which steps
 * run by chroot. An unknown instruction is an error, so nothing is skipped.
 */
export async function buildImage(
  repository: string,
  dockerfile: string,
  folder: string,
): Promise<Image> {
  const stages = parseDockerfile(readFileSync(join(repository, dockerfile), 'utf8'))
  const built = new Map<string, Image>()
  let last: Image | undefined
  for (const [i, stage] of stages.entries()) {
    last = await buildStage(stage, repository, join(folder, `stage-${i}`), built)
    if (stage.name !== undefined) built.set(stage.name, last)
  }
  return last!
}

async function buildStage(
  stage: Stage,
  context: string,
  root: string,
  built: ReadonlyMap<string, Image>,
): Promise<Image> {
  await makeBase(stage.base, root)
  const image: Image = {
    root,
    env: { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' },
    user: '0:0',
    workdir: '/',
    entrypoint: [],
    cmd: [],
    healthcheck: [],
    volumes: [],
  }
  for (const instruction of stage.instructions) await apply(instruction, image, context, built)
  return image
}

async function apply(
  { name, text, line }: Instruction,
  image: Image,
  context: string,
  built: ReadonlyMap<string, Image>,
): Promise<void> {
  switch (name) {
    case 'WORKDIR':
      image.workdir = text
      mkdir(join(image.root, text))
      return
    case 'ENV': {
      const [, key, value] = /^(\w+)=(.*)$/.exec(text)!
      image.env[key!] = value!
      return
    }
    case 'USER':
      image.user = text
      return
    case 'VOLUME':
      image.volumes.push(text)
      return
    case 'ENTRYPOINT':
      image.entrypoint = JSON.parse(text) as string[]
      return
    case 'CMD':
      image.cmd = JSON.parse(text) as string[]
      return
    case 'HEALTHCHECK':
      image.healthcheck = JSON.parse(/CMD\s+(\[.*\])$/.exec(text)![1]!) as string[]
      return
    case 'EXPOSE':
    case 'STOPSIGNAL':
      return
    case 'COPY':
      return copy(text, image, context, built)
    case 'RUN':
      return run(text, image)
    default:
      throw new Error(`line ${line} of the Dockerfile: ${name} is not known here`)
  }
}

async function copy(
  text: string,
  image: Image,
  context: string,
  built: ReadonlyMap<string, Image>,
): Promise<void> {
  const words = text.split(/\s+/)
  const options = words.filter((word) => word.startsWith('--'))
  const [source, target] = words.filter((word) => !word.startsWith('--')) as [string, string]
  const optionOf = (name: string): string | undefined =>
    options.find((option) => option.startsWith(`--${name}=`))?.split('=')[1]
  const into = join(image.root, target.startsWith('/') ? target : join(image.workdir, target))
  const from = optionOf('from')
  if (from === undefined) return copyContext(join(context, source), context, into)
  const { root } = built.get(from)!
  cpSync(join(root, source), into, { recursive: true, verbatimSymlinks: true })
  const owner = optionOf('chown')
  if (owner !== undefined) await must('chown', ['-R', owner, into])
}

/** The files under version control, or new ones, that .dockerignore does not exclude. */
async function copyContext(source: string, context: string, into: string): Promise<void> {
  const rules = readFileSync(join(context, '.dockerignore'), 'utf8')
  const args = ['ls-files', '-z', '--cached', '--others', '--exclude-standard']
  const listed = await must('git', args, { cwd: source })
  for (const file of listed.split('\0')) {
    const from = join(source, file)
    if (file === '' || isIgnored(rules, file) || !existsSync(from) || !statSync(from).isFile())
      continue
    mkdir(dirname(join(into, file)))
    copyFileSync(from, join(into, file))
  }
}

async function run(script: string, image: Image): Promise<void> {
  const certificates = '/etc/ssl/certs/ca-certificates.crt'
  const env = { ...image.env, NODE_EXTRA_CA_CERTS: certificates, npm_config_cafile: certificates }
  const settings = Object.entries(env).map(([key, value]) => `${key}=${value}`)
  const inside = `cd ${image.workdir} && ${script}`
  const mounts = [
    'mount --make-rprivate /',
    `mount -t proc proc ${image.root}/proc`,
    `mount --rbind /dev ${image.root}/dev`,
  ].join(' && ')
  const namespaces = ['--mount', '--pid', '--fork', '--kill-child']
  const enter = ['sh', '-ec', `${mounts} && exec env -i "$@"`, 'sh', ...settings]
  await must('unshare', [
    ...namespaces,
    ...enter,
    '/usr/sbin/chroot',
    image.root,
    '/bin/sh',
    '-ec',
    inside,
  ])
}
