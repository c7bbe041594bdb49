import { setTimeout as sleep } from 'node:timers/promises'
import { connect, type Client } from '@zabra/client'
import type { Say } from '../support/on-server.ts'
import { standAsMaster } from './candidate.ts'
import { prepare } from './layout.ts'
import { Submitter } from './submitter.ts'
import { Worker, type Work } from './worker.ts'

const pictures = 12

interface Actor {
  readonly name: string
  readonly client: Client
  readonly running: Promise<void>
}

/** Two masters, three workers and twelve pictures; a worker and the master die in between. */
export async function story(servers: string, say: Say): Promise<unknown[]> {
  await using client = await connect(servers)
  await client.ensure('/')
  await prepare(client)
  const end = new AbortController()
  const enter = async (name: string, play: (client: Client) => Promise<void>): Promise<Actor> => {
    const own = await connect(servers, { sessionTimeoutMs: 2000 })
    return { name, client: own, running: play(own) }
  }

  let master = ''
  const onElected = (name: string) => (): void => {
    master = name
    say(`${name} is the master`)
  }
  const masters: Actor[] = []
  for (const name of ['alpha', 'beta'])
    masters.push(
      await enter(name, (own) =>
        standAsMaster(own, name, end.signal, { tasksPerWorkerMax: 2, onElected: onElected(name) }),
      ),
    )
  const workers: Actor[] = []
  for (const name of ['wilma', 'wanda', 'walter'])
    workers.push(
      await enter(name, (own) => new Worker(own, name, shrink(name, say)).run(end.signal)),
    )

  const submitter = new Submitter(client)
  const ids: string[] = []
  for (let picture = 1; picture <= pictures; picture++) ids.push(await submitter.submit(picture))
  say(`${pictures} pictures are handed in`)

  await submitter.result(ids[2]!)
  await strikeDown(workers[0]!, say)
  await submitter.result(ids[5]!)
  await strikeDown(
    masters.find(({ name }) => name === master)!,
    say,
  )

  const results = await Promise.all(ids.map((id) => submitter.result(id)))
  say(`${results.length} pictures are done: ${results.join(', ')}`)
  for (const id of ids) await submitter.forget(id)
  end.abort()
  for (const { client: own, running } of [...masters, ...workers]) {
    await running
    await own.close()
  }
  return results
}

const shrink =
  (name: string, say: Say): Work =>
  async ({ input, token, signal }) => {
    say(`${name} takes picture ${String(input)}, token ${token}`)
    await sleep(100, undefined, { signal })
    return `${String(input)}.jpg`
  }

async function strikeDown({ name, client, running }: Actor, say: Say): Promise<void> {
  say(`${name} dies`)
  await client.close()
  await running
}
