import { currentProgram } from './virtual-process.ts'

type Listener = (reason: unknown, promise: Promise<unknown>) => void

/**
 * Rejections that nobody handles are reported to the simulated program whose they are. All others
 * go where they went before: to the test runner, for example. Returns a function that ends this.
 */
export function watchRejections(): () => void {
  const others = process.listeners('unhandledRejection') as Listener[]
  process.removeAllListeners('unhandledRejection')
  const listener: Listener = (reason, promise) => {
    const program = currentProgram()
    if (program !== undefined) program.rejectedUnhandled(reason)
    // As Node does where nobody listens.
    else if (others.length === 0) throw reason
    else for (const other of others) other(reason, promise)
  }
  process.on('unhandledRejection', listener)
  return () => {
    process.off('unhandledRejection', listener)
    for (const other of others) process.on('unhandledRejection', other)
  }
}
