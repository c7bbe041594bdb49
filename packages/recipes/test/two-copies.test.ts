/**
 * A program may have two copies of the client: its own, and the one that the recipes were installed
 * with. Both are built here, each into a file of its own, so that they share no class.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build } from 'esbuild'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import type * as ClientModule from '@zabra/client'
import type * as RecipesModule from '../src/index.ts'
import { useServer } from './support/server.ts'

const fixture = useServer()
const folder = mkdtempSync(join(tmpdir(), 'zabra-copies-'))
let own: typeof ClientModule
let recipes: typeof RecipesModule
let other: typeof ClientModule

async function copy<Module>(name: string, source: string): Promise<Module> {
  const outfile = join(folder, `${name}.mjs`)
  await build({
    stdin: { contents: source, resolveDir: fileURLToPath(new URL('.', import.meta.url)) },
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    conditions: ['@zabra/source'],
    logLevel: 'silent',
  })
  return (await import(pathToFileURL(outfile).href)) as Module
}

beforeAll(async () => {
  own = await copy('client', `export * from '@zabra/client'`)
  const both = await copy<typeof recipes & { client: typeof ClientModule }>(
    'recipes',
    `export * from '../src/index.ts'; export * as client from '@zabra/client'`,
  )
  recipes = both
  other = both.client
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

async function open(): Promise<ClientModule.Client> {
  const client = await own.connect(fixture.connectString, { sessionTimeoutMs: 2000 })
  onTestFinished(() => client.close())
  return client
}

test('the copies share no class, and recognize the errors of each other', async () => {
  const client = await open()
  expect(own.OperationError).not.toBe(other.OperationError)
  const error: unknown = await client.get('/not-there').catch((reason: unknown) => reason)
  expect(error).toBeInstanceOf(own.OperationError)
  expect(error).toBeInstanceOf(other.OperationError)
  expect(error).toBeInstanceOf(other.ZabraError)
  expect(error).not.toBeInstanceOf(other.TransactionError)
  expect(other.isRefusal(error, 'noNode')).toBe(true)
  class Own extends other.OperationError {}
  expect(error).not.toBeInstanceOf(Own)
  expect(new Own('noNode')).toBeInstanceOf(own.OperationError)
  expect({ code: 'noNode' }).not.toBeInstanceOf(other.ZabraError)
})

test('recipes work with a client of another copy', async () => {
  const client = await open()
  // Its parent does not exist, which the recipe learns from an error of the other copy.
  const lock = new recipes.Lock(client, '/copies/lock')
  const held = await lock.acquire({ timeoutMs: 5000 })
  const waiting = lock.acquire({ timeoutMs: 50 })
  await expect(waiting).rejects.toBeInstanceOf(own.TimeoutError)
  await held.release()
  const late = held.guard(client.transaction().create('/copies/late')).commit()
  await expect(late).rejects.toBeInstanceOf(recipes.LostError)
  const counter = new recipes.Counter(client, '/copies/counter')
  expect(await counter.increment()).toBe(1n)
  await counter.close()
  const queue = new recipes.Queue(client, '/copies/queue', { codec: own.text })
  await queue.put('a')
  const item = await queue.take({ timeoutMs: 5000 })
  expect(item.value).toBe('a')
  await item.complete()
  await queue.close()
})
