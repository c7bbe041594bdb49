/**
 * The words that start this very command again, as a server: Node and its program, or an executable
 * with both inside. A server gets less room for young objects, as in bin/zabra.
 */
export function launcher(): readonly string[] {
  const [, program = ''] = process.argv
  if (isExecutable()) return [process.execPath]
  return [process.execPath, '--max-semi-space-size=4', ...process.execArgv, program]
}

/** An executable cannot `import`; a Node too old for this function makes none. */
function isExecutable(): boolean {
  if (!('getBuiltinModule' in process)) return false
  return process.getBuiltinModule('node:sea').isSea()
}
