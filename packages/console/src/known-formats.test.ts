import { expect, test } from 'vitest'
import { knownFormat } from './known-formats.ts'

const titleOf = (path: string, value: unknown): string | undefined =>
  knownFormat(path, typeof value === 'string' ? value : JSON.stringify(value))?.title

test('recognizes znodes of Kafka, also below a chroot', () => {
  const broker = { endpoints: ['PLAINTEXT://b1:9092', 'SSL://b1:9093'], rack: null, version: 5 }
  expect(knownFormat('/kafka/brokers/ids/7', JSON.stringify(broker))).toEqual({
    title: 'Kafka broker 7',
    facts: [['Listeners', 'PLAINTEXT://b1:9092, SSL://b1:9093']],
  })
  expect(titleOf('/controller', { brokerid: 3, timestamp: '1700000000000' })).toBe(
    'Kafka controller: broker 3',
  )
  const state = { leader: -1, isr: [1, 2], leader_epoch: 4 }
  expect(knownFormat('/brokers/topics/t/partitions/0/state', JSON.stringify(state))?.facts).toEqual(
    [
      ['Leader', 'none'],
      ['In sync', '1, 2'],
      ['Epoch', '4'],
    ],
  )
  expect(titleOf('/brokers/topics/t', { partitions: { 0: [1, 2], 1: [2] } })).toBe('Kafka topic t')
})

test('recognizes znodes of Patroni and Curator by their fields', () => {
  const member = { role: 'replica', state: 'running', conn_url: 'postgres://b:5432/postgres' }
  expect(titleOf('/service/pg/members/b', member)).toBe('Patroni member b of pg')
  expect(titleOf('/service/pg/leader', 'a')).toBe('Leader of pg, as Patroni writes it')
  expect(titleOf('/service/pg/config', { ttl: 30, loop_wait: 10 })).toBe(
    'Patroni configuration of pg',
  )
  const instance = {
    name: 'worker',
    id: '1f',
    address: '10.0.0.1',
    port: 80,
    sslPort: null,
    registrationTimeUTC: 1_700_000_000_000,
    serviceType: 'DYNAMIC',
  }
  const known = knownFormat('/discovery/worker/1f', JSON.stringify(instance))
  expect(known?.title).toBe('Instance of the service worker, as Curator registers it')
  expect(known?.facts).toContainEqual(['Address', '10.0.0.1:80'])
})

test('recognizes nothing in other znodes', () => {
  expect(titleOf('/app/config', { limit: 1 })).toBeUndefined()
  expect(titleOf('/app/controller', 'on')).toBeUndefined()
  expect(titleOf('/app/leader', 'node-1')).toBeUndefined()
  expect(titleOf('/app/members/a', '10.0.0.1')).toBeUndefined()
  expect(titleOf('/brokers/ids/1', '{"broken')).toBeUndefined()
})
