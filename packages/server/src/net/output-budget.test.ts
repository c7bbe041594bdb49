import { expect, test } from 'vitest'
import { OutputBudget, type Backlogged } from './output-budget.ts'

class Client implements Backlogged {
  sentBytes = 0
  reason: string | undefined
  shed(reason: string): void {
    this.reason = reason
  }
}

let nowMs = 0
const budgetOf = (bytesMax: number): OutputBudget => {
  nowMs = 0
  return new OutputBudget(bytesMax, () => nowMs)
}

test('above the limit, the client that reads nothing and has the most unread bytes is closed', () => {
  const budget = budgetOf(1000)
  const [small, large, reading] = [new Client(), new Client(), new Client()]
  budget.set(small, 200)
  budget.set(large, 300)
  budget.set(reading, 400)
  nowMs = 2000
  reading.sentBytes = 5
  budget.set(reading, 600)
  expect([small.reason, reading.reason]).toEqual([undefined, undefined])
  expect(large.reason).toBe('300 bytes wait to be sent to it, 1100 to all clients')
  expect(budget.bytes).toBe(800)
})

test('clients that read are closed only above twice the limit', () => {
  const budget = budgetOf(1000)
  const clients = Array.from({ length: 10 }, () => new Client())
  for (const [i, client] of clients.entries()) {
    nowMs += 500
    for (const each of clients) each.sentBytes++
    budget.set(client, 190)
    expect(clients.filter(({ reason }) => reason !== undefined)).toHaveLength(0)
    expect(budget.bytes).toBe(190 * (i + 1))
  }
  budget.set(new Client(), 190)
  expect(budget.bytes).toBeLessThanOrEqual(1000)
})

test('bytes that were read, and closed connections, no longer count', () => {
  const budget = budgetOf(1000)
  const client = new Client()
  budget.set(client, 900)
  budget.set(client, 100)
  budget.set(client, 0)
  expect(budget.bytes).toBe(0)
})
