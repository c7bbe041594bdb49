import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect, type Client } from '@zabra/client'
import { startServer, type RunningServer } from '@zabra/server'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { zabraCommand } from './support/program.ts'
import { hasTmux, Terminal } from './support/terminal.ts'

if (!hasTmux) console.log('NOT RUN: the shell on a terminal, because there is no tmux')

describe.skipIf(!hasTmux)('the shell on a terminal', () => {
  let server: RunningServer
  let client: Client
  let folder: string

  beforeAll(async () => {
    server = await startServer()
    client = await connect(server.connectString)
    folder = mkdtempSync(join(tmpdir(), 'zabra-terminal-'))
    await client.create('/apple', '{"red":true}')
    await client.create('/apple/core pip', 'x')
    await client.create('/banana', '2')
  })

  afterAll(async () => {
    await client.close()
    await server.stop()
    rmSync(folder, { recursive: true })
  })

  const env = (): Record<string, string> => ({
    ZABRA_SERVERS: server.connectString,
    ZABRA_CONFIG_DIR: folder,
    EDITOR: join(folder, 'editor'),
  })

  async function opened(): Promise<Terminal> {
    const terminal = new Terminal([...zabraCommand, 'shell'], env())
    await terminal.shows(/\(CONNECTED\) 0\]$/)
    return terminal
  }

  test('completes commands, flags and paths, and quotes names with blanks', async () => {
    await using terminal = await opened()
    await terminal.type('getA', 'Tab', 'Tab')
    await terminal.shows(/getAcl +getAllChildrenNumber/)
    await terminal.type('C-c', 'get /app', 'Tab')
    await terminal.shows(/get \/apple$/)
    await terminal.type('/', 'Tab')
    await terminal.shows(/get "\/apple\/core pip"$/)
    await terminal.type('Enter')
    await terminal.shows(/\nx\n.*\(CONNECTED\) 1\]$/)
    await terminal.type('tree --si', 'Tab')
    await terminal.shows(/tree --sizes$/)
    await terminal.type('/ban', 'Tab', 'Enter')
    await terminal.shows(/\n\/banana {2}1 B\n/)
  })

  test('shows JSON indented, and the commands of zabra beside those of zkCli.sh', async () => {
    await using terminal = await opened()
    await terminal.type('get /apple', 'Enter')
    await terminal.shows(/\{\n {2}"red": true\n\}\n/)
    await terminal.type('find / --name banana', 'Enter')
    await terminal.shows(/\n\/banana\n/)
    await terminal.type('lss', 'Enter')
    await terminal.shows(/Command not found: lss\n {2}did you mean ls\?/)
  })

  test('prints what a watch tells above the line that is being typed', async () => {
    await using terminal = await opened()
    await terminal.type('get -w /banana', 'Enter')
    await terminal.shows(/\n2\n.* 1\]$/)
    await terminal.type('half a li')
    await terminal.shows(/half a li$/)
    await client.set('/banana', '3')
    await terminal.shows(/NodeDataChanged path:\/banana zxid: \d+\n\[zabra: .* 1\] half a li$/)
  })

  test('Ctrl-C takes a line back, and ends a command; Ctrl-D leaves', async () => {
    await using terminal = await opened()
    await terminal.type('nonsense', 'C-c')
    await terminal.shows(/nonsense\^C\n\[zabra: .* 0\]$/)
    await terminal.type('more nonsense', 'C-a', 'C-c')
    await terminal.shows(/more nonsense\^C\n\[zabra: .* 0\]$/)
    await terminal.type('create --ephemeral /held', 'Enter')
    await terminal.shows(/stays until Ctrl-C/)
    await terminal.type('C-c')
    await terminal.shows(/\^C\n\[zabra: .* 1\]$/)
    await terminal.type('C-d')
    await terminal.ends()
    expect(await client.exists('/held')).toBeUndefined()
  })

  test('`exit` leaves, as in other shells', async () => {
    await using terminal = await opened()
    await terminal.type('exit', 'Enter')
    await terminal.ends()
    expect(terminal.screen).not.toContain('not found')
  })

  test('what follows an interrupted command begins on a line of its own', async () => {
    // tmux scrolls when the program has ended.
    const inShell = ['sh', '-c', 'trap "" INT; echo; echo; "$@"; echo over', 'sh', ...zabraCommand]
    await using holding = new Terminal([...inShell, 'create', '-e', '/held'], env())
    await holding.shows(/stays until Ctrl-C/)
    await holding.type('C-c')
    await holding.shows(/\^C\nover/)
    await using asking = new Terminal([...inShell, 'deleteall', '/apple'], env())
    await asking.shows(/\[y\/N\]$/)
    await asking.type('C-d')
    await asking.shows(/\[y\/N\]\nover/)
    expect(await client.exists('/apple')).toBeDefined()
  })

  test('runs pasted lines one by one, each behind a prompt', async () => {
    await using terminal = await opened()
    await terminal.type('ls /banana\nget /banana\nversion\n')
    await terminal.shows(/ 0\] ls \/banana\n[^]* 1\] get \/banana\n.*\n\[.* 2\] version\n[^]* 3\]$/)
  })

  test('the prompt names the context, or the first of several servers', async () => {
    const servers = `${server.connectString},127.0.0.1:1/apple`
    await using terminal = new Terminal([...zabraCommand, 'shell', '--servers', servers], env())
    await terminal.shows(/\[zabra: 127\.0\.0\.1:\d+,\+1\/apple\(CONNECTED\) 0\]$/)
    const contexts = { current: 'here', contexts: { here: { servers: server.connectString } } }
    writeFileSync(join(folder, 'contexts.json'), JSON.stringify(contexts))
    await using other = new Terminal([...zabraCommand, 'shell', '--context', 'here'], env())
    await other.shows(/\[zabra: here\(CONNECTED\) 0\]$/)
  })

  test('keeps its history in a file for its owner, without passwords', async () => {
    {
      await using terminal = await opened()
      await terminal.type('ls /banana', 'Enter')
      await terminal.shows(/\n\[\]\n.* 1\]$/)
      await terminal.type('addauth digest ann:secret', 'Enter')
      await terminal.shows(/ 2\]$/)
      await terminal.type('quit', 'Enter')
      await terminal.ends()
    }
    const file = join(folder, 'history')
    expect(readFileSync(file, 'utf8')).toMatch(/ls \/banana\nquit\n$/)
    expect(readFileSync(file, 'utf8')).not.toContain('secret')
    expect(statSync(file).mode & 0o777).toBe(0o600)
    await using again = await opened()
    await again.type('Up', 'Up')
    await again.shows(/ls \/banana$/)
  })

  test('Ctrl-R searches the history', async () => {
    await using terminal = await opened()
    await terminal.type('ls /banana', 'Enter', 'get /apple', 'Enter', 'ls /apple', 'Enter')
    await terminal.shows(/ 3\]$/)
    await terminal.type('half', 'C-r', 'ls')
    await terminal.shows(/\n\(search\) ls: ls \/apple$/)
    await terminal.type('C-r')
    await terminal.shows(/\n\(search\) ls: ls \/banana$/)
    await terminal.type('x')
    await terminal.shows(/\n\(search finds nothing\) lsx:$/)
    await terminal.type('C-g')
    await terminal.shows(/ 3\] half$/)
    await terminal.type('C-r', '/ban', 'C-e')
    await terminal.shows(/ 3\] ls \/banana$/)
    await terminal.type('Enter')
    await terminal.shows(/\n\[\]\n.* 4\]$/)
  })

  test('asks before it deletes a tree, lends its terminal to an editor, and takes it back', async () => {
    writeFileSync(
      join(folder, 'editor'),
      '#!/bin/sh\necho editing\nread line\nprintf %s "$line" > "$1"\n',
      {
        mode: 0o755,
      },
    )
    await client.create('/tree')
    await client.create('/tree/leaf')
    await using terminal = await opened()
    await terminal.type('deleteall --dry-run /tree', 'Enter')
    await terminal.shows(/would delete 2 nodes/)
    await terminal.type('edit /banana', 'Enter')
    await terminal.shows(/\nediting$/)
    await terminal.type('typed into the editor', 'Enter')
    await terminal.shows(/saved version \d+\n\[zabra: .* 2\]$/)
    expect(Buffer.from((await client.get('/banana')).data).toString()).toBe('typed into the editor')
    await terminal.type('mirror --delete /banana /tree', 'Enter')
    await terminal.shows(/1 to delete\. Go on\? \[y\/N\]$/)
    await terminal.type('no', 'Enter')
    await terminal.shows(/nothing was changed\n\[zabra: .* 3\]$/)
    expect(await client.exists('/tree/leaf')).toBeDefined()
  })

  test('goes on in a narrower window', async () => {
    await using terminal = await opened()
    await terminal.type('get /bana')
    terminal.resize(50, 20)
    await terminal.type('na', 'Enter')
    await terminal.shows(/ 1\]$/)
    await terminal.type('ls /', 'Enter')
    await terminal.shows(/\[apple, banana.* 2\]$/s)
  })

  test('says when the connection is lost, and when it is back', async () => {
    const own = await startServer()
    const { port } = new URL(`tcp://${own.connectString}`)
    await using terminal = new Terminal(
      [...zabraCommand, 'shell', '-server', own.connectString],
      env(),
    )
    await terminal.shows(/\(CONNECTED\) 0\]$/)
    await own.stop()
    await terminal.shows(/\ndisconnected; trying [^]*\(CONNECTING\) 0\]$/)
    const back = await startServer({ config: { clientPort: port } })
    try {
      await terminal.shows(/\nconnected, session 0x[0-9a-f]+\n\[zabra: .*\(CONNECTED\) 0\]$/)
      await terminal.type('quit', 'Enter')
      await terminal.ends()
    } finally {
      await back.stop()
    }
  })
})
