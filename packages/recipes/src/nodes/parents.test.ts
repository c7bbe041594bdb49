import { expect, test } from 'vitest'
import { useServer } from '../../test/support/server.ts'
import { below } from './parents.ts'

const fixture = useServer()

test('a missing parent is created', async () => {
  const client = await fixture.open()
  await below(client, '/made/parent', {}, () => client.create('/made/parent/child'))
  expect(await client.children('/made/parent')).toEqual(['child'])
})

test('if something else than the parent is missing, the error is passed on at once', async () => {
  const client = await fixture.open()
  let attempts = 0
  const deeper = below(client, '/there', {}, () => {
    attempts++
    return client.create('/there/not/child')
  })
  await expect(deeper).rejects.toMatchObject({ reason: 'noNode', path: '/there/not/child' })
  expect(attempts).toBe(1)
})

test('a parent that does not help is not created forever', async () => {
  const client = await fixture.open()
  const refused = below(client, '/helpless', {}, () => client.get('/helpless/child'))
  await expect(refused).rejects.toMatchObject({ reason: 'noNode', path: '/helpless/child' })
})
