import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { apachePasswords } from '@zabra/core'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { RawClient } from '../../test/support/raw-client.ts'
import { startServer } from '../embedded.ts'
import { silent } from '../base/logger.ts'
import { secretPasswords, sessionPasswordsOf } from './session-passwords.ts'

const id = 0x0100000b044b0000n
const secret = 'a secret of the ensemble'
let file: string

beforeEach(() => {
  const directory = mkdtempSync(join(tmpdir(), 'zabra-secret-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  file = join(directory, 'secret')
  writeFileSync(file, `${secret}\n`)
  chmodSync(file, 0o600)
})

const passwordsOf = (kind: 'apache' | 'both' | 'secret') =>
  sessionPasswordsOf({ secretFile: file, kind }, silent)

test('without the secret a password cannot be computed from the session id', () => {
  const passwords = passwordsOf('secret')
  expect(passwords.of(id)).toHaveLength(16)
  expect(passwords.isRight(id, passwords.of(id))).toBe(true)
  expect(passwords.isRight(id, apachePasswords.of(id))).toBe(false)
  expect(passwords.isRight(id, secretPasswords('another secret').of(id))).toBe(false)
  expect(passwords.isRight(id + 1n, passwords.of(id))).toBe(false)
  expect(passwords.isRight(id, passwords.of(id).subarray(0, 15))).toBe(false)
  expect(passwords.isRight(id, null)).toBe(false)
  expect(passwords.isRight(0n, passwords.of(0n))).toBe(false)
  expect(passwords.isRight(-2n, passwordsOf('both').of(-2n))).toBe(true)
})

test.each([
  ['apache', 'both'],
  ['both', 'apache'],
  ['both', 'secret'],
  ['secret', 'both'],
] as const)('a session of a server set to %s goes on with one set to %s', (from, to) => {
  expect(passwordsOf(to).isRight(id, passwordsOf(from).of(id))).toBe(true)
})

test('without a secret the passwords are those of Apache, so that sessions can move to its servers', () => {
  const passwords = sessionPasswordsOf({ secretFile: undefined, kind: 'apache' }, silent)
  expect(passwords).toBe(apachePasswords)
})

test('a secret that others can read is a warning, a missing or short one an error', () => {
  const warnings: string[] = []
  const logger = { ...silent, warn: (text: string) => void warnings.push(text) }
  const read = (): unknown => sessionPasswordsOf({ secretFile: file, kind: 'secret' }, logger)
  chmodSync(file, 0o644)
  read()
  expect(warnings).toEqual([expect.stringContaining('chmod 600')])
  writeFileSync(file, 'too short')
  expect(read).toThrow('holds 9 characters, but needs 16')
  rmSync(file)
  expect(read).toThrow('session.secretFile: ENOENT')
})

describe('an attacker who knows the id of a session', () => {
  const steal = async (port: number, sessionId: bigint): Promise<RawClient> =>
    RawClient.connect(port, { session: { sessionId, password: apachePasswords.of(sessionId) } })

  test('cannot take it over if the servers have a secret, while its client can move to another server', async () => {
    const config = { 'session.secretFile': file, clientPort: 0 }
    const server = await startServer({ config })
    onTestFinished(() => server.stop())
    const victim = await RawClient.connect(server.clientPort)
    await victim.create('/mine', '', 1)
    await expect(steal(server.clientPort, victim.sessionId)).rejects.toThrow()
    expect(server.peer.stats.failedGuesses).toBe(1)
    const again = await RawClient.connect(server.clientPort, { session: victim })
    const { stat } = await again.must('exists', { path: '/mine', watch: false })
    expect(stat.ephemeralOwner).toBe(victim.sessionId)
    await again.close()
  })
})
