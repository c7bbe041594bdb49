import { onTestFinished } from 'vitest'

/** What nobody catches until the end of the test, which would end the process otherwise. */
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
