/**
 * Finds Apache ZooKeeper on this machine, or downloads it: from Maven Central into
 * `interop/.cache`, except for 3.8, which comes from Debian's packages.
 */
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ensureTool, installDebian, runTool, say } from './tools.ts'

export const apacheReleases = ['3.5', '3.6', '3.7', '3.8', '3.9'] as const
export type ApacheRelease = (typeof apacheReleases)[number]

export interface Apache {
  readonly ok: true
  readonly release: ApacheRelease
  /** The exact version, such as `3.9.5`. */
  readonly version: string
  /** Includes the server with its AdminServer, the Java client and ZooKeeperMain. */
  readonly classPath: string
}

export interface NoApache {
  readonly ok: false
  /** A sentence for the report. */
  readonly reason: string
}

/** The folder for downloaded tools; not under version control. */
export const cacheDir = join(dirname(fileURLToPath(import.meta.url)), '..', '.cache')

/** Finds a release, and installs it if it is missing. Never throws. */
export async function findApache(release: ApacheRelease): Promise<Apache | NoApache> {
  try {
    const java = await ensureTool('java', ['default-jre-headless'])
    if (!java) return missing(release, 'there is no java, and apt-get could not install one')
    return release === '3.8' ? await fromDebian() : await fromMaven(release)
  } catch (error) {
    return missing(release, String(error))
  }
}

type MavenRelease = Exclude<ApacheRelease, '3.8'>

/**
 * Newest first. The files of an announced release may not be available yet; then the next one is
 * tried.
 */
const versions: Readonly<Record<MavenRelease, readonly string[]>> = {
  '3.5': ['3.5.10', '3.5.9'],
  '3.6': ['3.6.4', '3.6.3'],
  '3.7': ['3.7.2', '3.7.1'],
  '3.9': ['3.9.6', '3.9.5', '3.9.4'],
}

async function fromMaven(release: MavenRelease): Promise<Apache | NoApache> {
  const home = join(cacheDir, `apache-${release}`)
  const refusals: string[] = []
  if (!existsSync(home)) {
    const maven = await ensureTool('mvn', ['maven'])
    if (!maven) return missing(release, 'there is no mvn, and apt-get could not install it')
    for (const version of versions[release]) {
      const refusal = await download(release, version, home)
      if (refusal === undefined) break
      say(`Apache ${version} cannot be had: ${refusal}`)
      refusals.push(`${version}: ${refusal}`)
    }
  }
  if (!existsSync(home)) return missing(release, refusals.join('; '))
  const version = (await readFile(join(home, 'version'), 'utf8')).trim()
  const jars = (await readdir(home)).filter((name) => name.endsWith('.jar')).toSorted()
  const classPath = jars.map((name) => join(home, name)).join(':')
  return { ok: true, release, version, classPath }
}

/**
 * Downloads to another folder and renames it when complete, so that two suites may do this at once.
 */
async function download(
  release: MavenRelease,
  version: string,
  home: string,
): Promise<string | undefined> {
  say(`fetching Apache ZooKeeper ${version} with mvn`)
  await mkdir(cacheDir, { recursive: true })
  const draft = await mkdtemp(join(cacheDir, 'draft-'))
  try {
    const pomFile = join(draft, 'pom.xml')
    await writeFile(pomFile, pom(release, version))
    const goal = ['dependency:copy-dependencies', `-DoutputDirectory=${draft}`]
    const args = ['-B', '-q', '-U', '-f', pomFile, ...goal]
    const { ok, output } = await runTool('mvn', args, { timeoutMs: 300_000, cwd: draft })
    if (!ok) return firstError(output)
    await writeFile(join(draft, 'version'), `${version}\n`)
    await rename(draft, home).catch((error: unknown) => {
      if (!existsSync(home)) throw error
    })
    return undefined
  } finally {
    await rm(draft, { recursive: true, force: true })
  }
}

function firstError(output: string): string {
  const errors = output.split('\n').filter((line) => line.includes('[ERROR]'))
  const telling = errors.find((line) => /could not|cannot|not found/i.test(line)) ?? errors[0]
  return (telling ?? output).replace(/^.*\[ERROR\]\s*/, '').slice(0, 300)
}

const since36 = [
  ['io.dropwizard.metrics', 'metrics-core'],
  ['org.xerial.snappy', 'snappy-java'],
] as const

/**
 * The published jar declares some dependencies as `provided`; the binary release contains them, and
 * the server needs them. Their versions come from the release's parent.
 */
function pom(release: MavenRelease, version: string): string {
  const provided = [
    ['commons-cli', 'commons-cli'],
    ['org.eclipse.jetty', 'jetty-server'],
    ['org.eclipse.jetty', 'jetty-servlet'],
    ['com.fasterxml.jackson.core', 'jackson-databind'],
    [release === '3.9' ? 'org.jline' : 'jline', 'jline'],
    ...(release === '3.5' ? [] : since36),
  ] as const
  const dependencies = [
    dependency('org.apache.zookeeper', 'zookeeper', version),
    dependency('org.slf4j', 'slf4j-api', '2.0.13'),
    dependency('org.slf4j', 'slf4j-simple', '2.0.13'),
    ...provided.map(([group, artifact]) => dependency(group, artifact)),
  ]
  const parent = `<dependency><groupId>org.apache.zookeeper</groupId><artifactId>parent</artifactId>
    <version>${version}</version><type>pom</type><scope>import</scope></dependency>`
  return `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>zabra</groupId><artifactId>interop</artifactId><version>1</version>
  <dependencyManagement><dependencies>${parent}</dependencies></dependencyManagement>
  <dependencies>${dependencies.join('\n')}</dependencies>
</project>
`
}

function dependency(group: string, artifact: string, version?: string): string {
  const fixed = version === undefined ? '' : `<version>${version}</version>`
  return `<dependency><groupId>${group}</groupId><artifactId>${artifact}</artifactId>${fixed}</dependency>`
}

/** Debian's jars declare no class path, so the server's dependencies are listed here. */
const debianJars = `
  zookeeper zookeeper-jute slf4j-api slf4j-simple commons-cli commons-io netty-all netty-buffer
  netty-common netty-handler netty-transport netty-codec netty-resolver
  netty-transport-native-unix-common jetty9-server jetty9-servlet jetty9-http jetty9-io jetty9-util jetty9-util-ajax
  jetty9-security servlet-api metrics-core snappy-java jackson-databind jackson-core
  jackson-annotations jline3 jline2 jline
`
  .trim()
  .split(/\s+/)

async function fromDebian(): Promise<Apache | NoApache> {
  const folder = '/usr/share/java'
  const serverJar = join(folder, 'zookeeper.jar')
  if (!existsSync(serverJar)) {
    const { ok, output } = await installDebian(['zookeeper', 'libzookeeper-java'])
    if (!ok) return missing('3.8', `apt-get says: ${output.trim().split('\n').at(-1)}`)
  }
  const files = await readdir(folder)
  const version = files
    .map((name) => /^zookeeper-(\d+\.\d+\.\d+)\.jar$/.exec(name)?.[1])
    .find(Boolean)
  if (version === undefined) return missing('3.8', `no zookeeper-VERSION.jar in ${folder}`)
  if (!version.startsWith('3.8.')) return missing('3.8', `the package in ${folder} is ${version}`)
  const jars = debianJars.map((name) => `${name}.jar`).filter((name) => files.includes(name))
  return {
    ok: true,
    release: '3.8',
    version,
    classPath: jars.map((n) => join(folder, n)).join(':'),
  }
}

function missing(release: ApacheRelease, why: string): NoApache {
  return { ok: false, reason: `Apache ZooKeeper ${release} cannot be run here: ${why}` }
}
