import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { cacheDir } from '../../src/apache.ts'
import { ensureTool, runTool, say } from '../../src/tools.ts'
import { recipes } from '../catalogue.ts'
import { unprepared, type Client, type UnpreparedClient } from '../client.ts'
import { converse } from '../conversation.ts'
import { compile, javaCommand } from '../java/prepare.ts'

export const version = '5.7.1'

/** Apache Curator's recipes, with the Java client that they depend on. */
export const curator: Client = {
  name: 'curator',
  checks: recipes,
  async prepare() {
    const found = await curatorJars()
    if (!found.ok) return found
    const { classPath } = found
    const classes = await compile('curator', ['Smoke'], classPath, import.meta.dirname)
    if (!classes.ok) return unprepared('javac failed', classes.output)
    const command = javaCommand([classes.dir, classPath], 'Smoke')
    return { ok: true, version, run: (server) => converse(command, recipes, server) }
  },
}

type Artifact = 'curator-recipes' | 'curator-x-discovery'

/** Curator with all dependencies, optionally with its service discovery. */
export async function curatorJars(
  artifact: Artifact = 'curator-recipes',
): Promise<{ readonly ok: true; readonly classPath: string } | UnpreparedClient> {
  const folders = { 'curator-recipes': 'curator', 'curator-x-discovery': 'curator-discovery' }
  const home = join(cacheDir, `${folders[artifact]}-${version}`)
  if (!existsSync(home)) {
    const failure = await download(home, artifact)
    if (failure !== undefined) return unprepared(`mvn could not bring Curator ${version}`, failure)
  }
  const jars = (await readdir(home)).filter((name) => name.endsWith('.jar'))
  return { ok: true, classPath: jars.map((name) => join(home, name)).join(delimiter) }
}

/**
 * Downloads to another folder and renames it when complete, so a failed download leaves nothing.
 */
async function download(home: string, artifact: Artifact): Promise<string | undefined> {
  if (!(await ensureTool('mvn', ['maven']))) return 'there is no mvn, and apt-get has none'
  say(`fetching Curator ${version} with mvn`)
  await mkdir(cacheDir, { recursive: true })
  const draft = await mkdtemp(join(cacheDir, 'draft-'))
  try {
    await writeFile(join(draft, 'pom.xml'), pom(artifact))
    const goal = ['dependency:copy-dependencies', `-DoutputDirectory=${draft}`]
    const args = ['-B', '-q', ...goal]
    const { ok, output } = await runTool('mvn', args, { cwd: draft, timeoutMs: 300_000 })
    if (!ok) return output
    await rename(draft, home)
    return undefined
  } finally {
    await rm(draft, { recursive: true, force: true })
  }
}

const pom = (artifact: Artifact): string => `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>zabra</groupId><artifactId>curator-smoke</artifactId><version>1</version>
  <dependencies><dependency>
    <groupId>org.apache.curator</groupId><artifactId>${artifact}</artifactId><version>${version}</version>
  </dependency></dependencies>
</project>
`
