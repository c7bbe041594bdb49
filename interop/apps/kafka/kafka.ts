import { delimiter } from 'node:path'
import { unprepared } from '../../clients/client.ts'
import { compile } from '../../clients/java/prepare.ts'
import type { Application } from '../application.ts'
import { fetchJars } from '../install/maven.ts'
import type { Stage } from '../stage.ts'
import { until } from '../../src/until.ts'
import { Brokers } from './brokers.ts'
import { Ledger } from './ledger.ts'

const version = '3.9.1'
const patienceMs = 90_000

/** The last release of Kafka that stores its metadata in ZooKeeper. */
export const kafka: Application = {
  name: 'kafka',
  exercise:
    'three brokers; acks=all, idempotent, while controller, leader and a broker die; configs, ACLs',
  async prepare() {
    const jars = await fetchJars(`kafka-${version}`, [
      `org.apache.kafka:kafka_2.13:${version}`,
      `org.apache.kafka:kafka-tools:${version}`,
      'org.slf4j:slf4j-simple:1.7.36',
    ])
    if (!jars.ok) return jars
    const classes = await compile('kafka', ['Ledger'], jars.classPath, import.meta.dirname)
    if (!classes.ok) return unprepared('javac failed', classes.output)
    const classPath = [classes.dir, jars.classPath].join(delimiter)
    return { ok: true, version, run: (stage) => run(stage, classPath) }
  },
}

async function run(stage: Stage, classPath: string): Promise<string> {
  const { ensemble } = stage
  const brokers = await Brokers.open(stage, classPath)
  await stage.step('three brokers start and one is the controller', async () => {
    brokers.startAll()
    await until('not all brokers are registered', patienceMs, async () => {
      return (await brokers.registered()).length === 3 && (await brokers.controller()) !== undefined
    })
  })
  await stage.step('topics are created', async () => {
    await brokers.createTopic('ledger')
    await brokers.createTopic('short-lived')
  })
  const ledger = new Ledger(classPath, brokers.bootstrap, 'ledger')
  stage.atEnd(() => ledger.end())
  const goesOn = (): Promise<void> => ledger.untilMore(1500, patienceMs)

  await stage.step('messages are acknowledged', goesOn)
  const killed = await stage.step('the controller is killed, and another is elected', async () => {
    const id = await brokers.controller()
    if (id === undefined) throw new Error('there is no controller')
    await brokers.of(id).stop('SIGKILL')
    await until('no other controller', patienceMs, async () => {
      const now = await brokers.controller()
      return now !== undefined && now !== id
    })
    await goesOn()
    return id
  })
  await stage.step('the leader of the ensemble is killed', async () => {
    await ensemble.kill('leader')
    await goesOn()
  })
  await stage.step('a topic is created while broker and server are down', async () => {
    await brokers.createTopic('meanwhile', 2)
  })
  await stage.step('both return, and all replicas are in sync', async () => {
    await ensemble.heal()
    brokers.of(killed).start()
    await brokers.untilInSync(patienceMs)
    await goesOn()
  })
  await stage.step('a broker sleeps until its session is gone, and registers again', async () => {
    const id = (await brokers.controller())!
    const sleeper = brokers.of(id)
    sleeper.signal('SIGSTOP')
    await until('the sleeper is still registered', patienceMs, async () => {
      return !(await brokers.registered()).includes(id)
    })
    sleeper.signal('SIGCONT')
    await until('the sleeper is not back', patienceMs, async () => {
      return (await brokers.registered()).includes(id)
    })
    await brokers.untilInSync(patienceMs)
    await goesOn()
  })
  await stage.step('leader and follower are killed in turn', async () => {
    await ensemble.kill('leader')
    await goesOn()
    await ensemble.heal()
    await ensemble.kill('follower')
    await goesOn()
    await ensemble.heal()
  })
  const written = await stage.step('writing ends without a refusal', () => ledger.stop())
  const found = await stage.step('every acknowledged message is there, exactly once', () => {
    return ledger.read()
  })
  await stage.step('configs of a topic, a broker and a user change', () => configure(brokers))
  await stage.step('partitions are added and leadership moves', async () => {
    await brokers.tool('TopicCommand', '--alter', '--topic', 'meanwhile', '--partitions', '9')
    await brokers.untilInSync(patienceMs)
    await brokers.tool(
      'LeaderElectionCommand',
      '--election-type',
      'preferred',
      '--all-topic-partitions',
    )
  })
  await stage.step('ACLs are added, listed and removed', () => changeAcls(brokers))
  await stage.step('a topic is deleted', async () => {
    await brokers.tool('TopicCommand', '--delete', '--topic', 'short-lived')
    await until('the topic is still there', patienceMs, async () => {
      const left = await brokers.children('/brokers/topics')
      const waiting = await brokers.children('/admin/delete_topics')
      return !left.includes('short-lived') && waiting.length === 0
    })
  })
  await stage.step('the brokers stop by themselves, and sign off', async () => {
    await brokers.stopAll()
    const left = await brokers.registered()
    if (left.length > 0) throw new Error(`${left.length} are still registered`)
  })
  return `${written} messages acknowledged, ${found} read, 0 missing, 0 repeated`
}

async function configure(brokers: Brokers): Promise<void> {
  const change = async (type: string, name: string, config: string): Promise<string> => {
    const entity = ['--entity-type', type, '--entity-name', name]
    await brokers.tool('ConfigCommand', '--alter', ...entity, '--add-config', config)
    return brokers.tool('ConfigCommand', '--describe', ...entity)
  }
  const expectIn = (output: string, text: string): void => {
    if (!output.includes(text)) throw new Error(`${text} is not in what is described:\n${output}`)
  }
  expectIn(await change('topics', 'ledger', 'retention.ms=777777777'), 'retention.ms=777777777')
  expectIn(await change('brokers', '1', 'log.cleaner.threads=2'), 'log.cleaner.threads=2')
  expectIn(await change('users', 'alice', 'SCRAM-SHA-512=[password=secret]'), 'SCRAM-SHA-512')
}

async function changeAcls(brokers: Brokers): Promise<void> {
  const rule = ['--allow-principal', 'User:alice', '--operation', 'Read', '--topic', 'ledger']
  await brokers.tool('AclCommand', '--add', ...rule)
  const isListed = async (): Promise<boolean> => {
    const output = await brokers.tool('AclCommand', '--list', '--topic', 'ledger')
    return output.includes('User:alice')
  }
  await until('the rule is not listed', patienceMs, isListed)
  await brokers.tool('AclCommand', '--remove', '--force', ...rule)
  await until('the rule is still listed', patienceMs, async () => !(await isListed()))
}
