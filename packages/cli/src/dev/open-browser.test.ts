import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openBrowser } from './open-browser.ts'

test('the browser of the environment gets the address', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'zabra-browser-'))
  const browser = join(folder, 'browser')
  const visit = `"${process.execPath}" -e 'fetch(process.argv[1])' "$1"`
  writeFileSync(browser, `#!/bin/sh\nexec ${visit}\n`, { mode: 0o755 })
  const server = createServer((_, answer) => answer.end())
  const visited = new Promise((resolve) => server.once('request', ({ url }) => resolve(url)))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  try {
    const { port } = server.address() as { port: number }
    const env = { ...process.env, BROWSER: browser }
    expect(await openBrowser(`http://127.0.0.1:${port}/console`, env)).toBeUndefined()
    expect(await visited).toBe('/console')
  } finally {
    server.close()
    server.closeAllConnections()
    rmSync(folder, { recursive: true })
  }
})

test('a missing browser is named', async () => {
  const problem = await openBrowser('http://127.0.0.1:1/', { BROWSER: '/nowhere/browser' })
  expect(problem).toBe('there is no program /nowhere/browser')
})
