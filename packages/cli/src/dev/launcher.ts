/** The words that start this very command again: Node and its program, or an executable with both inside. */
export function launcher(): readonly string[] {
  const [, program = ''] = process.argv
  return isExecutable() ? [process.execPath] : [process.execPath, ...process.execArgv, program]
}

/** An executable cannot `import`; a Node too old for this function makes none. */
function isExecutable(): boolean {
  if (!('getBuiltinModule' in process)) return false
  return process.getBuiltinModule('node:sea').isSea()
}
