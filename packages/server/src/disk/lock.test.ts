import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { DirectoryInUseError, lockDirectory, lockName } from './lock.ts'

let directory: string

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'zabra-lock-'))
})

afterEach(() => {
  rmSync(directory, { recursive: true })
})

const lockPath = (): string => join(directory, lockName)

test('a directory is held by one server at a time, even within a process', () => {
  const lock = lockDirectory(directory)
  expect(() => lockDirectory(directory)).toThrow(DirectoryInUseError)
  lock.release()
  expect(existsSync(lockPath())).toBe(false)
  lockDirectory(directory).release()
})

test('releasing twice does not release a lock that another server has taken since', () => {
  const first = lockDirectory(directory)
  first.release()
  writeFileSync(lockPath(), '1\n\n\n')
  first.release()
  expect(existsSync(lockPath())).toBe(true)
})

test('a running process keeps its lock, and a dead one does not', async () => {
  const other = spawn(process.execPath, ['-e', 'process.stdin.resume(); console.log(1)'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  await once(other.stdout, 'data')
  const lock = lockDirectory(directory)
  const [, , bootId] = readFileSync(lockPath(), 'utf8').split('\n')
  lock.release()
  const stat = readFileSync(`/proc/${other.pid}/stat`, 'utf8')
  const startTime = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]

  writeFileSync(lockPath(), `${other.pid}\n${startTime}\n${bootId}\n`)
  expect(() => lockDirectory(directory)).toThrow(`in use by process ${other.pid}`)
  writeFileSync(lockPath(), `${other.pid}\n${startTime}\nan-earlier-boot\n`)
  lockDirectory(directory).release()
  writeFileSync(lockPath(), `${other.pid}\n1\n${bootId}\n`)
  lockDirectory(directory).release()

  writeFileSync(lockPath(), `${other.pid}\n${startTime}\n${bootId}\n`)
  other.stdin.end()
  await once(other, 'exit')
  lockDirectory(directory).release()
})

test('a half-written lock is taken over', () => {
  writeFileSync(lockPath(), '')
  lockDirectory(directory).release()
})
