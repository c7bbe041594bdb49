import { delimiter } from 'node:path'
import { unprepared } from '../../clients/client.ts'
import { compile, javaCommand } from '../../clients/java/prepare.ts'
import { Program } from '../../clients/program.ts'
import { say } from '../../src/tools.ts'
import type { Application } from '../application.ts'
import { fetchJars } from '../install/maven.ts'
import type { Stage } from '../stage.ts'

const version = '5.7.1'
/** Separate tests for each client, so that a change in Apache's client is visible. */
const zookeepers = { '3.9': '3.9.4', '3.8': '3.8.4' } as const
const recipeMsMax = 180_000

const sources = [
  'Recipes',
  'World',
  'Elections',
  'Locks',
  'Counters',
  'Barriers',
  'Caches',
  'Nodes',
  'Queues',
  'Discovery',
]

/** All of Curator's recipes and its service discovery, on one release of Apache's Java client. */
export function curator(release: keyof typeof zookeepers): Application {
  const zookeeper = zookeepers[release]
  return {
    name: `curator-zk${release}`,
    exercise:
      'elections, locks, counters, barriers, caches, nodes, queues, discovery; kills, expiry',
    async prepare() {
      const jars = await fetchJars(`curator-${version}-all-zk-${zookeeper}`, [
        `org.apache.curator:curator-recipes:${version}`,
        `org.apache.curator:curator-x-discovery:${version}`,
        `org.apache.zookeeper:zookeeper:${zookeeper}`,
      ])
      if (!jars.ok) return jars
      const name = `curator-recipes-${release}`
      const classes = await compile(name, sources, jars.classPath, import.meta.dirname)
      if (!classes.ok) return unprepared('javac failed', classes.output)
      const classPath = [classes.dir, jars.classPath].join(delimiter)
      return { ok: true, version, run: (stage) => run(stage, classPath) }
    },
  }
}

async function run(stage: Stage, classPath: string): Promise<string> {
  const { ensemble } = stage
  const command = [...javaCommand([classPath], 'Recipes'), ensemble.connectString]
  const program = new Program(command)
  stage.atEnd(() => program.end())
  const failures: string[] = []
  let passed = 0
  for (;;) {
    const line = await program.nextLine(recipeMsMax)
    if (line === undefined) throw new Error(`the recipes came to no end: ${program.ending}`)
    if (line === 'done') break
    const [kind = '', ...rest] = line.split(' ')
    const text = rest.join(' ')
    if (kind === 'ask') program.tell(await fulfil(stage, text))
    if (kind === 'ok') {
      passed++
      say(`curator: ${text}`)
    }
    if (kind === 'FAIL') {
      failures.push(text)
      say(`curator: FAIL ${text}`)
      // The next recipe needs three servers, whatever went wrong.
      await ensemble.heal()
    }
  }
  if (failures.length > 0) throw new Error(`${passed} recipes passed, not:\n${failures.join('\n')}`)
  return `${passed} recipes`
}

async function fulfil({ ensemble }: Stage, wish: string): Promise<string> {
  try {
    if (wish === 'kill-leader') await ensemble.kill('leader')
    else if (wish === 'kill-follower') await ensemble.kill('follower')
    else if (wish === 'heal') await ensemble.heal()
    else return `nobody here can ${wish}`
    return 'done'
  } catch (error) {
    return String(error).replaceAll('\n', ' | ')
  }
}
