import { existsSync } from 'node:fs'
import { chromium, type Browser } from 'playwright-core'
import { installDebian } from './tools.ts'

const debianPath = '/usr/bin/chromium'

/** A headless browser: that of CHROMIUM, or Debian's, which is installed if it is missing. */
export async function launchChromium(...args: readonly string[]): Promise<Browser> {
  const named = process.env['CHROMIUM']
  if (named === undefined && !existsSync(debianPath)) {
    const { ok, output } = await installDebian(['chromium', 'fonts-dejavu-core'])
    if (!ok) throw new Error(`NO BROWSER: Chromium cannot be installed: ${output.slice(-500)}`)
  }
  return chromium.launch({
    executablePath: named ?? debianPath,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      ...args,
    ],
  })
}
