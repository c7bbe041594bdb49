/** The words that start this very command again: Node and its program, or an executable with both inside. */
export async function launcher(): Promise<readonly string[]> {
  const [, program = ''] = process.argv
  return (await isExecutable())
    ? [process.execPath]
    : [process.execPath, ...process.execArgv, program]
}

async function isExecutable(): Promise<boolean> {
  try {
    const { isSea } = await import('node:sea')
    return isSea()
  } catch {
    // Older than Node 20.12, which no executable of ours is made of.
    return false
  }
}
