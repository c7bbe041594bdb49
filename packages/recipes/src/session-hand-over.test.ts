import { connect } from '@zabra/client'
import { expect, onTestFinished, test } from 'vitest'
import { useServer } from '../test/support/server.ts'
import { Lock } from './lock.ts'
import { SessionHandOver } from './session-hand-over.ts'

const fixture = useServer()

test('the next process continues the session: nodes stay, and a lock remains held', async () => {
  const witness = await fixture.open()
  const first = await fixture.open({ sessionTimeoutMs: 4000 })
  const { id } = first.session!
  await first.create('/handed-over', 'here', { ephemeral: true })
  const lock = await new Lock(first, '/locks/handed').acquire()
  const changes = witness.watch('/handed-over')
  await changes.ready
  const waiting = new Lock(witness, '/locks/handed').acquire()
  const answered = first.get('/handed-over')
  const ticket = (await new SessionHandOver(first).write())!
  expect((await answered).stat.ephemeralOwner).toBe(id)
  expect(first.state.name).toBe('closed')
  expect(lock.signal.reason).toMatchObject({ reason: 'closed' })
  const second = await connect(fixture.connectString, {
    sessionTimeoutMs: 4000,
    session: SessionHandOver.read(ticket),
  })
  onTestFinished(() => second.close())
  expect(second.state).toMatchObject({ resumed: true, session: { id } })
  const again = await new SessionHandOver(second).adopt(lock.path)
  expect(again.token).toBe(lock.token)
  await again.guard(second.transaction().create('/locks/while-handed')).commit()
  await witness.set('/handed-over', 'seen')
  expect(await changes.next()).toMatchObject({ value: { type: 'changed' } })
  await changes.return()
  await again.release()
  await (await waiting).release()
})

test('nodes of other sessions are not adopted, and invalid tickets are refused', async () => {
  const client = await fixture.open()
  const other = await fixture.open()
  await other.create('/of-another', '', { ephemeral: true })
  await expect(new SessionHandOver(client).adopt('/of-another')).rejects.toMatchObject({
    code: 'lost',
  })
  await expect(new SessionHandOver(client).adopt('/of-nobody')).rejects.toMatchObject({
    code: 'lost',
  })
  for (const text of ['', '{', '{}', 'null', '{"id":"x","password":"zz","lastZxid":"1"}'])
    expect(SessionHandOver.read(text)).toBeUndefined()
})

test('a detached client cannot be used any more, and one without a session has no ticket', async () => {
  const client = await fixture.open()
  await new SessionHandOver(client).write()
  await expect(client.get('/')).rejects.toMatchObject({ code: 'closed' })
  await expect(client.detach()).rejects.toMatchObject({ code: 'closed' })
})
