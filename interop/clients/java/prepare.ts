import { mkdir, rm } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { cacheDir, findApache, type ApacheRelease } from '../../src/apache.ts'
import { ensureTool, runTool } from '../../src/tools.ts'
import { everyday } from '../catalogue.ts'
import { unprepared, type Client } from '../client.ts'
import { converse } from '../conversation.ts'

/** Apache's own Java client of one release. */
export function javaClient(release: ApacheRelease): Client {
  const name = `java-${release}`
  return {
    name,
    checks: everyday,
    async prepare() {
      const apache = await findApache(release)
      if (!apache.ok) return apache
      const classes = await compile(name, ['Client', 'Session', 'Talk'], apache.classPath)
      if (!classes.ok) return unprepared('javac failed', classes.output)
      const command = javaCommand([classes.dir, apache.classPath], 'Client')
      return {
        ok: true,
        version: apache.version,
        run: (server) => converse(command, everyday, server),
      }
    },
  }
}

/** A Java program with a fast start and no log. */
export function javaCommand(classPath: readonly string[], main: string): readonly string[] {
  const quick = ['-Xmx256m', '-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC', '-Dfile.encoding=UTF-8']
  const quiet = '-Dorg.slf4j.simpleLogger.defaultLogLevel=off'
  return ['java', ...quick, quiet, '-cp', classPath.join(delimiter), main]
}

/** Compiles the sources of a folder (by default this one) against a class path. */
export async function compile(
  name: string,
  sources: readonly string[],
  classPath: string,
  folder: string = import.meta.dirname,
): Promise<{ readonly ok: boolean; readonly output: string; readonly dir: string }> {
  const dir = join(cacheDir, 'build', name)
  if (!(await ensureTool('javac', ['default-jdk-headless']))) {
    return { ok: false, output: 'there is no javac, and apt-get could not install one', dir }
  }
  await rm(dir, { recursive: true, force: true })
  await mkdir(dir, { recursive: true })
  const files = sources.map((source) => join(folder, `${source}.java`))
  const options = ['-nowarn', '-encoding', 'UTF-8', '-sourcepath', import.meta.dirname]
  const args = [...options, '-d', dir, '-cp', classPath, ...files]
  return { ...(await runTool('javac', args, { timeoutMs: 120_000 })), dir }
}
