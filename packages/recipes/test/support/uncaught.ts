import { onTestFinished } from 'vitest'

/** Collects uncaught errors until the end of the test; otherwise they would end the process. */
export function catchUncaught(): readonly unknown[] {
  const errors: unknown[] = []
  const before = process.listeners('uncaughtException')
  process.removeAllListeners('uncaughtException')
  process.on('uncaughtException', (error) => errors.push(error))
  onTestFinished(() => {
    process.removeAllListeners('uncaughtException')
    for (const listener of before) process.on('uncaughtException', listener)
  })
  return errors
}
