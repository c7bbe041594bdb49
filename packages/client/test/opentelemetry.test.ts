import { expect, onTestFinished, test } from 'vitest'
import { instrument } from '../src/node-host/opentelemetry.ts'
import { useServer } from './support/fixture.ts'

const fixture = useServer()

test('requests are spans and measurements, until that is stopped', async () => {
  const client = await fixture.open()
  const spans: { name: string; attributes: Record<string, unknown>; ended: boolean }[] = []
  const records: (readonly [name: string, value: number, attributes: object])[] = []
  const stop = instrument({
    tracer: {
      startSpan(name, { attributes }) {
        const span = {
          name,
          attributes: { ...attributes } as Record<string, unknown>,
          ended: false,
        }
        spans.push(span)
        return {
          setAttribute: (key, value) => (span.attributes[key] = value),
          setStatus: ({ code }) => (span.attributes['status'] = code),
          recordException: ({ name: kind }) => (span.attributes['exception'] = kind),
          end: () => void (span.ended = true),
        }
      },
    },
    meter: {
      createHistogram: (name) => ({
        record: (value, attributes) => void records.push([name, value, attributes]),
      }),
      createCounter: (name) => ({
        add: (value, attributes) => void records.push([name, value, attributes]),
      }),
    },
  })
  onTestFinished(stop)
  await client.create('/spans', 'x')
  await client.get('/no-span').catch(() => {})
  stop()
  await client.exists('/spans')
  expect(spans).toMatchObject([
    {
      name: 'zookeeper create2',
      ended: true,
      attributes: {
        'db.system.name': 'zookeeper',
        'db.operation.name': 'create2',
        'db.collection.name': '/spans',
        'server.port': fixture.port,
      },
    },
    {
      name: 'zookeeper getData',
      ended: true,
      attributes: { 'error.type': 'noNode', exception: 'OperationError', status: 2 },
    },
  ])
  expect(records).toHaveLength(2)
  expect(records[0]![0]).toBe('db.client.operation.duration')
  expect(records[0]![2]).not.toHaveProperty('db.collection.name')
})
