import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { readDer } from './der.ts'
import { nameText } from './distinguished-name.ts'

/** Made by `new X500Principal(der).getName()` of OpenJDK 17. */
const names = JSON.parse(
  readFileSync(new URL('testdata/java-names.json', import.meta.url), 'utf8'),
) as readonly { readonly der: string; readonly java: string }[]

test.each(names)('$java', ({ der, java }) => {
  expect(nameText(readDer(Buffer.from(der, 'hex')))).toBe(java)
})
