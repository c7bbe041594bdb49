import { request } from 'node:http'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { startServer } from '../embedded.ts'
import type { RunningServer } from '../running/running-server.ts'

let server: RunningServer

beforeEach(async () => {
  server = await startServer({ config: { 'admin.enableServer': 'true', 'admin.serverPort': 0 } })
})
afterEach(() => server.stop())

test('the console loads only its own files, which browsers may cache', async () => {
  const page = await fetch(server.consoleAddress!)
  expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8')
  expect(page.headers.get('cache-control')).toBe('no-cache')
  expect(page.headers.get('content-security-policy')).toContain(
    "default-src 'none'; script-src 'self'",
  )
  const html = await page.text()
  const links = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, link = '']) => link)
  expect(links.length).toBeGreaterThan(1)
  for (const link of links) {
    expect(link).toMatch(/^\/assets\/[\w.-]+$/)
    const file = await fetch(new URL(link, server.consoleAddress))
    expect(file.status).toBe(200)
    expect(file.headers.get('cache-control')).toContain('immutable')
  }
})

test('unknown files are not found', async () => {
  expect((await fetch(`${server.adminAddress}/assets/x.js`)).status).toBe(404)
  expect((await fetch(`${server.adminAddress}/assets/__proto__`)).status).toBe(404)
})

test('a foreign Host header does not get the console', async () => {
  const { port } = new URL(server.consoleAddress!)
  const status = await new Promise((resolve, reject) => {
    request({ port, headers: { Host: 'rebound.example' } }, (response) => {
      response.resume()
      resolve(response.statusCode)
    })
      .on('error', reject)
      .end()
  })
  expect(status).toBe(403)
})
