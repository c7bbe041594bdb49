import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { unprepared, type UnpreparedClient } from '../../clients/client.ts'
import { cacheDir } from '../../src/apache.ts'
import { ensureTool, runTool, say } from '../../src/tools.ts'

export interface Jars {
  readonly ok: true
  readonly classPath: string
}

/** In the form `group:artifact:version`. */
export type Coordinates = `${string}:${string}:${string}`

/**
 * Downloads artifacts of Maven Central with all dependencies into a folder of the cache. An
 * artifact that is named here has this version, whatever other artifacts require.
 */
export async function fetchJars(
  name: string,
  artifacts: readonly Coordinates[],
): Promise<Jars | UnpreparedClient> {
  const home = join(cacheDir, name)
  if (!existsSync(home)) {
    const failure = await download(name, home, artifacts)
    if (failure !== undefined) return unprepared(`mvn could not bring ${name}`, failure)
  }
  // A logger that some of them bring would print between the lines of our own programs.
  const isWanted = (file: string): boolean => file.endsWith('.jar') && !file.startsWith('logback')
  const files = (await readdir(home)).filter(isWanted).toSorted()
  return { ok: true, classPath: files.map((file) => join(home, file)).join(delimiter) }
}

/**
 * Downloads to another folder and renames it when complete, so a failed download leaves nothing.
 */
async function download(
  name: string,
  home: string,
  artifacts: readonly Coordinates[],
): Promise<string | undefined> {
  if (!(await ensureTool('java', ['default-jre-headless']))) return 'there is no java'
  if (!(await ensureTool('mvn', ['maven']))) return 'there is no mvn, and apt-get has none'
  say(`fetching ${name} with mvn`)
  await mkdir(cacheDir, { recursive: true })
  const draft = await mkdtemp(join(cacheDir, 'draft-'))
  try {
    await writeFile(join(draft, 'pom.xml'), pom(artifacts))
    const goal = ['dependency:copy-dependencies', `-DoutputDirectory=${draft}`]
    const args = ['-B', '-q', ...goal]
    const { ok, output } = await runTool('mvn', args, { cwd: draft, timeoutMs: 600_000 })
    if (!ok) return output
    await rename(draft, home)
    return undefined
  } finally {
    await rm(draft, { recursive: true, force: true })
  }
}

function pom(artifacts: readonly Coordinates[]): string {
  const dependencies = artifacts.map((coordinates) => {
    const [group, artifact, version] = coordinates.split(':')
    return `<dependency><groupId>${group}</groupId><artifactId>${artifact}</artifactId>
      <version>${version}</version></dependency>`
  })
  return `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>zabra</groupId><artifactId>apps</artifactId><version>1</version>
  <dependencies>${dependencies.join('\n')}</dependencies>
</project>
`
}
