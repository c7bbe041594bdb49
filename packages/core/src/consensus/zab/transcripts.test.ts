/** The messages and the storage of leader and learners, as files to read: `vitest -u` rewrites them. */
import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { play } from '../../../test/support/zab/script.ts'

const directory = new URL('testdata/', import.meta.url)

test.each(readdirSync(directory))('%s', async (name) => {
  const file = new URL(name, directory)
  await expect(await play(readFileSync(file, 'utf8'))).toMatchFileSnapshot(file.pathname)
})
