import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect } from '@zabra/client'
import { startServer, type RunningServer } from '@zabra/server'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { zabraCommand } from './support/program.ts'
import { hasTmux, Terminal } from './support/terminal.ts'

let server: RunningServer
let folder: string

beforeAll(async () => {
  server = await startServer()
  await using client = await connect(server.connectString)
  await client.create('/apple')
  await client.create('/apple/core pip')
  await client.create('/apple/core pip/deep')
  await client.create('/a:b')
  await client.create('/a:b/colon')
  folder = mkdtempSync(join(tmpdir(), 'zabra-completion-'))
  const words = zabraCommand.map((word) => `'${word}'`).join(' ')
  writeFileSync(join(folder, 'zabra'), `#!/bin/sh\nexec ${words} "$@"\n`, { mode: 0o755 })
  for (const shell of ['bash', 'zsh', 'fish'])
    writeFileSync(join(folder, shell), execFileSync(join(folder, 'zabra'), ['completion', shell]))
})

afterAll(async () => {
  await server.stop()
  rmSync(folder, { recursive: true })
})

/** How each shell is started, and loads the script. */
const shells = {
  bash: { command: ['bash', '--norc', '--noprofile', '-i'], load: 'source "$D/bash"' },
  zsh: { command: ['zsh', '-f', '-i'], load: 'autoload -U compinit; compinit -u; source "$D/zsh"' },
  fish: { command: ['fish', '--no-config', '-i'], load: 'source "$D/fish"' },
} as const

for (const [name, { command, load }] of Object.entries(shells)) {
  const isThere = hasTmux && spawnSync(name, ['-c', 'exit']).status === 0
  if (!isThere)
    console.log(`NOT RUN: completion in ${name}, because there is no ${name} or no tmux`)

  describe.skipIf(!isThere)(`completion in ${name}`, () => {
    async function opened(): Promise<Terminal> {
      const env = {
        D: folder,
        HOME: folder,
        PATH: `${folder}:${process.env['PATH']}`,
        ZABRA_CONFIG_DIR: folder,
        ZABRA_SERVERS: '127.0.0.1:1',
      }
      const terminal = new Terminal(command, env)
      await terminal.type(load, 'Enter', 'echo ready', 'Enter')
      await terminal.shows(/\nready\n/)
      return terminal
    }

    test('commands and options', async () => {
      await using terminal = await opened()
      await terminal.type('zabra top-n', 'Tab')
      await terminal.shows(/zabra top-nodes $|zabra top-nodes$/m)
      await terminal.type('--lim', 'Tab')
      await terminal.shows(/zabra top-nodes --limit/)
    })

    test('paths of the server on the command line, whatever their names', async () => {
      await using terminal = await opened()
      await terminal.type(`zabra get --servers ${server.connectString} /appl`, 'Tab')
      await terminal.shows(/ \/apple/)
      await terminal.type('/', 'Tab')
      await terminal.shows(/ \/apple\/core\\ pip/)
      await terminal.type('/', 'Tab')
      await terminal.shows(/ \/apple\/core\\ pip\/deep/)
      await terminal.type('C-c', `zabra get --servers ${server.connectString} /a:`, 'Tab')
      await terminal.shows(/ \/a\\?:b/)
      await terminal.type('/', 'Tab')
      const screen = await terminal.shows(/ \/a\\?:b\/colon/)
      expect(screen).not.toMatch(/\/a\\?:\/a/)
    })
  })
}
