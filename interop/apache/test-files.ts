import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'

export interface TestFiles {
  /** Tests that use the server of the fixture, whichever it is. */
  readonly onAnyServer: readonly string[]
  /** Tests that start zabra themselves, and would only repeat `npm test`. */
  readonly onTheirOwn: readonly string[]
}

/** The test files below these folders that need a server, relative to the workspace. */
export function findTestFiles(workspace: string, folders: readonly string[]): TestFiles {
  const onAnyServer: string[] = []
  const onTheirOwn: string[] = []
  for (const folder of folders) {
    for (const file of testFilesBelow(join(workspace, folder))) {
      const text = readFileSync(file, 'utf8')
      const path = relative(workspace, file)
      if (/\buseServer\(/.test(text)) onAnyServer.push(path)
      else if (/@zabra\/server'|\buseServerWithLog\(/.test(text)) onTheirOwn.push(path)
    }
  }
  return { onAnyServer: onAnyServer.toSorted(), onTheirOwn: onTheirOwn.toSorted() }
}

function testFilesBelow(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name)
    if (entry.isDirectory())
      return ['node_modules', 'dist'].includes(entry.name) ? [] : testFilesBelow(path)
    return entry.name.endsWith('.test.ts') ? [path] : []
  })
}
