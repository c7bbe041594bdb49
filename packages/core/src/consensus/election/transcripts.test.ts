/** The messages of elections, as files to read and compare: `vitest -u` rewrites them. */
import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { play } from '../../../test/support/election/script.ts'

const directory = new URL('testdata/', import.meta.url)

test.each(readdirSync(directory))('%s', async (name) => {
  const file = new URL(name, directory)
  await expect(play(readFileSync(file, 'utf8'))).toMatchFileSnapshot(file.pathname)
})
