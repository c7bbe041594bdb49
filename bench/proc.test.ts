import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, test } from 'vitest'
import { statFields, usageOf, withDescendants } from './proc.ts'

test('the name of a command may hold spaces and brackets', () => {
  expect(statFields('42 (a (b) c) S 7 42 42 0')).toEqual(['S', '7', '42', '42', '0'])
})

test.runIf(process.platform === 'linux')('a process that is gone uses nothing', () => {
  expect(usageOf([2 ** 30])).toEqual({ cpuS: 0, rssMb: 0 })
})

test.runIf(process.platform === 'linux')('the child of a launcher is counted with it', async () => {
  const child = spawn(process.execPath, ['-e', 'console.log(1); process.stdin.resume()'])
  await once(child.stdout, 'data')
  expect(withDescendants([process.pid])).toContain(child.pid)
  expect(usageOf([child.pid ?? 0]).rssMb).toBeGreaterThan(1)
  child.stdin.end()
  await once(child, 'exit')
})
