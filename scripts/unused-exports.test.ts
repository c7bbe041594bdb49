import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { unusedExports } from './unused-exports.ts'

test('an export that no other file names is reported, whatever its own file does with it', () => {
  const folder = mkdtempSync(join(tmpdir(), 'zabra-exports-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const write = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text)
    return join(folder, name)
  }
  const one = write(
    'one.ts',
    'export const used = 1\nexport function unused() {}\nunused()\nexport class Dead {}\n',
  )
  const other = write('other.ts', "import { used } from './one.ts'\nconst own = used\n")
  expect(unusedExports([one, other])).toEqual([
    { file: one, name: 'unused' },
    { file: one, name: 'Dead' },
  ])
})
