import { ConnectionLossError, json, text, type Created, type Stat } from '@zabra/client'
import { nextState } from '@zabra/testing'
import { expect, onTestFinished, test } from 'vitest'
import { useServer } from '../test/support/server.ts'
import { expire, openProxied, roundTrips } from '../test/support/trouble.ts'
import { catchUncaught } from '../test/support/uncaught.ts'
import { Group, type Members } from './group.ts'

const fixture = useServer()
const codec = text

const listed = (members: Members<string>): string[] =>
  [...members.values()].map(({ name, data }) => `${name}=${data}`).toSorted()

async function watch(path: string) {
  const group = await new Group(await fixture.open(), path, { codec }).watch()
  onTestFinished(() => group[Symbol.asyncDispose]())
  return group
}

test('members are seen as they join, change and leave', async () => {
  const group = await watch('/seen')
  expect(group.current.size).toBe(0)
  const client = await fixture.open()
  const a = await new Group(client, '/seen', { codec }).join('1', { name: 'a' })
  await group.until((members) => members.size === 1)
  const b = await new Group(client, '/seen', { codec }).join('2')
  await group.until((members) => members.size === 2)
  expect(group.current.get('a')).toEqual({
    name: 'a',
    data: '1',
    token: a.token,
    session: client.session!.id,
  })
  expect(b.token).toBeGreaterThan(a.token)
  await a.update('3')
  await group.until((members) => members.get('a')?.data === '3')
  await b.release()
  await group.until((members) => members.size === 1)
  expect(b.signal.reason).toMatchObject({ reason: 'released' })
  await client.close()
  await group.until((members) => members.size === 0)
})

test('the group is an iteration that starts with the current members', async () => {
  const client = await fixture.open()
  await new Group(client, '/iterated', { codec }).join('x', { name: 'a' })
  const group = await watch('/iterated')
  const seen: string[][] = []
  for await (const members of group) {
    seen.push(listed(members))
    if (seen.length === 1) await new Group(client, '/iterated', { codec }).join('y', { name: 'b' })
    else break
  }
  expect(seen).toEqual([['a=x'], ['a=x', 'b=y']])
})

test('a registration survives its session', async () => {
  const client = await fixture.open()
  const group = await watch('/survives')
  const member = await new Group(client, '/survives', { codec }).join('1', { name: 'a' })
  const { token } = member
  const presence: string[] = []
  member.presence.onChange((now) => presence.push(now))
  await expire(client, fixture.connectString)
  expect(member.presence.current).toBe('absent')
  await member.update('2')
  await member.presence.until((now) => now === 'present')
  expect(member.token).toBeGreaterThan(token)
  expect(member.signal.aborted).toBe(false)
  expect(presence.at(-1)).toBe('present')
  const members = await group.until((now) => now.get('a')?.data === '2')
  expect(members.get('a')?.token).toBe(member.token)
})

test('a node that somebody else deletes comes back', async () => {
  const client = await fixture.open()
  const member = await new Group(client, '/back', { codec }).join('x', { name: 'a' })
  const { token } = member
  const group = await watch('/back')
  await client.delete('/back/a')
  await group.until((members) => (members.get('a')?.token ?? 0n) > token)
})

test.each(['answered', 'lost'] as const)(
  'an update while a node is created again takes effect, the reply being %s',
  async (reply) => {
    const client = await fixture.open()
    const other = await fixture.open()
    const path = `/said-${reply}/a`
    const member = await new Group(client, `/said-${reply}`, { codec }).join('v1', { name: 'a' })
    const create = client.create.bind(client) as (...args: unknown[]) => Promise<Created>
    const set = client.set.bind(client) as (...args: unknown[]) => Promise<Stat>
    client.create = async (...args: unknown[]) => {
      client.create = create
      const made = create(...args)
      await member.update('v2')
      const created = await made
      if (reply === 'lost') throw new ConnectionLossError(true)
      return created
    }
    client.set = async (...args: unknown[]) => {
      client.set = set
      const done = set(...args)
      await member.update('v3')
      return done
    }
    await other.delete(path)
    const said = async (): Promise<string> => (await other.get(path, { codec })).data
    await expect.poll(() => said().catch(() => undefined)).toBe('v3')
    await member.presence.until((now) => now === 'present')
    await client.sync()
    expect(await said()).toBe('v3')
  },
)

test('a member comes back even if the server refuses that for a while', async () => {
  const client = await fixture.open()
  const other = await fixture.open()
  const member = await new Group(client, '/refused', { codec }).join('x', { name: 'a' })
  // Below an ephemeral node nothing can be made.
  await other
    .transaction()
    .delete('/refused/a')
    .delete('/refused')
    .create('/refused', '', { ephemeral: true })
    .commit()
  await member.presence.until((now) => now === 'absent')
  await client.sync()
  await other.delete('/refused')
  await member.presence.until((now) => now === 'present')
  expect(member.signal.aborted).toBe(false)
})

test('while the connection is lost the presence is uncertain, and others still see the member', async () => {
  const { client, proxy } = await openProxied(fixture.connectString)
  const group = await watch('/uncertain')
  const member = await new Group(client, '/uncertain', { codec }).join('x', { name: 'a' })
  await group.until((members) => members.has('a'))
  const suspended = nextState(client, 'suspended')
  proxy.cut()
  await suspended
  expect(member.presence.current).toBe('uncertain')
  expect(group.current.has('a')).toBe(true)
  await proxy.heal()
  await member.presence.until((now) => now === 'present')
})

test('an update takes effect even after the caller stops waiting', async () => {
  const { client, proxy } = await openProxied(fixture.connectString)
  const group = await watch('/given-up')
  const member = await new Group(client, '/given-up', { codec }).join('1', { name: 'a' })
  const suspended = nextState(client, 'suspended')
  proxy.cut()
  await suspended
  const late = member.update('2', { timeoutMs: 1 })
  await expect(late).rejects.toMatchObject({ code: 'timeout', mayHaveHappened: true })
  const controller = new AbortController()
  const waiting = member.update('3', { signal: controller.signal })
  controller.abort(new Error('no more'))
  await expect(waiting).rejects.toThrow('no more')
  await proxy.heal()
  await group.until((members) => members.get('a')?.data === '3')
  const before = AbortSignal.abort(new Error('not even begun'))
  await expect(member.update('4', { signal: before })).rejects.toThrow('not even begun')
  await member.update('5')
  await group.until((members) => members.get('a')?.data === '5')
})

test('a node that an own session left behind is taken over at once', async () => {
  const { client, proxy } = await openProxied(fixture.connectString, { sessionTimeoutMs: 1000 })
  const member = await new Group(client, '/left', { codec }).join('x', { name: 'a' })
  const { token } = member
  const { id, password } = client.session!
  const expired = nextState(client, 'expired')
  proxy.cut()
  // Somebody keeps the old session alive, so that its node stays.
  await fixture.open({ session: { id, password }, sessionTimeoutMs: 20_000 })
  await expired
  await proxy.heal()
  await member.presence.until((now) => now === 'present')
  expect(member.token).toBeGreaterThan(token)
})

test('joining waits for a name that somebody else has', async () => {
  const first = await fixture.open()
  const second = await fixture.open()
  const holder = await new Group(first, '/waited', { codec }).join('first', { name: 'a' })
  await expect(
    new Group(second, '/waited', { codec }).join('', { name: 'a', timeoutMs: 50 }),
  ).rejects.toMatchObject({ code: 'timeout' })
  const join = new Group(second, '/waited', { codec }).join('second', { name: 'a' })
  await second.sync()
  await holder.release()
  const member = await join
  expect(member.token).toBeGreaterThan(holder.token)
  const group = await watch('/waited')
  expect(listed(group.current)).toEqual(['a=second'])
})

test('a join with a lost reply happens once, and one that is given up leaves nothing', async () => {
  const { client, proxy } = await openProxied(fixture.connectString)
  const group = await watch('/lost')
  await new Group(client, '/lost', { codec }).join('', { name: 'first' })
  await group.until((members) => members.size === 1)
  proxy.hold({ direction: 'toClient' })
  const join = new Group(client, '/lost', { codec }).join('x', { name: 'a' })
  const controller = new AbortController()
  const { signal } = controller
  const givenUp = new Group(client, '/lost', { codec }).join('x', { name: 'b', signal })
  await group.until((members) => members.size === 3)
  controller.abort('enough')
  await expect(givenUp).rejects.toBe('enough')
  proxy.reset()
  await proxy.heal()
  await join
  const members = await group.until((now) => now.size === 2)
  expect([...members.keys()]).toEqual(['first', 'a'])
})

test('a guarded transaction fails when the member has left', async () => {
  const client = await fixture.open()
  const member = await new Group(client, '/guarded', { codec }).join('')
  await member.guard(client.transaction().create('/while-member')).commit()
  await member.release()
  await expect(
    member.guard(client.transaction().delete('/while-member')).commit(),
  ).rejects.toMatchObject({ code: 'lost', reason: 'released' })
})

test('nodes that the codec cannot decode are no members', async () => {
  const client = await fixture.open()
  await client.ensure('/strange')
  await client.create('/strange/a', '{')
  await client.create('/strange/b', '{"port":1}')
  const problems: string[] = []
  await using group = await new Group(client, '/strange', {
    codec: json<{ port: number }>(),
  }).watch({ onProblem: ({ path }) => problems.push(path) })
  expect([...group.current.keys()]).toEqual(['b'])
  expect(problems).toEqual(['/strange/a'])
  await client.set('/strange/a', '{"port":2}')
  await group.until((members) => members.get('a')?.data.port === 2)
})

test('an error thrown by onProblem surfaces, and does not hide members', async () => {
  const client = await fixture.open()
  const uncaught = catchUncaught()
  await client.create('/rude')
  await using group = await new Group(client, '/rude', { codec: json<number>() }).watch({
    onProblem: () => {
      throw new Error('a bug of the caller')
    },
  })
  await client.transaction().create('/rude/a', '{').create('/rude/b', '1').commit()
  await group.until((members) => members.has('b'))
  await expect.poll(() => uncaught).toMatchObject([{ message: 'a bug of the caller' }])
})

test('nodes below a member are not read', async () => {
  const client = await fixture.open()
  await client.ensure('/shallow/a/below')
  const read = new Set<string>()
  const get = client.get.bind(client) as (...args: unknown[]) => Promise<never>
  client.get = (...args: unknown[]): Promise<never> => {
    read.add(String(args[0]))
    return get(...args)
  }
  await using group = await new Group(client, '/shallow', { codec }).watch()
  await client.set('/shallow/a/below', 'x')
  await client.set('/shallow/a', 'x')
  await group.until((members) => members.get('a')?.data === 'x')
  expect([...read].toSorted()).toEqual(['/shallow', '/shallow/a'])
})

test.each(['', 'a/b', '..'])('an invalid name is refused: %j', async (name) => {
  const client = await fixture.open()
  await expect(new Group(client, '/improper', { codec }).join('', { name })).rejects.toThrow(
    TypeError,
  )
})

test('closing the client ends membership and watching', async () => {
  const client = await fixture.open()
  const member = await new Group(client, '/ended', { codec }).join('')
  const group = await new Group(client, '/ended', { codec }).watch()
  const never = group.until((members) => members.size === 5)
  const failed = expect(never).rejects.toMatchObject({ code: 'closed' })
  await client.close()
  await failed
  expect(member.signal.reason).toMatchObject({ reason: 'closed' })
})

test('giving up and joining again is not undone by the first attempt', async () => {
  const client = await fixture.open()
  const controller = new AbortController()
  const create = client.create.bind(client)
  client.create = (...args: Parameters<typeof create>) => {
    client.create = create
    const created = create(...args)
    controller.abort(new Error('too long'))
    return created
  }
  const exists = client.exists.bind(client)
  // The first attempt cleans up when the second has had the time to join.
  let later = (): void => {}
  const isLater = new Promise<void>((resolve) => (later = resolve))
  let clearing: Promise<unknown> | undefined
  client.exists = (...args: Parameters<typeof exists>) => {
    client.exists = exists
    const found = isLater.then(() => exists(...args))
    clearing = found
    return found
  }
  const group = new Group(client, '/rejoined', { codec })
  const given = group.join('x', { name: 'a', signal: controller.signal })
  await expect(given).rejects.toThrow('too long')
  const joining = group.join('x', { name: 'a' })
  await roundTrips(client, 5)
  later()
  const member = await joining
  const { token } = member
  await clearing
  await roundTrips(client, 2)
  expect((await client.exists('/rejoined/a'))?.czxid).toBe(token)
  expect(member.presence.current).toBe('present')
})
