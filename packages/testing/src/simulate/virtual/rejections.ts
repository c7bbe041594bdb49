import { currentProgram } from './virtual-process.ts'

type Listener = (reason: unknown, promise: Promise<unknown>) => void

/**
 * Reports unhandled rejections of a simulated program to that program. All others go to the handlers
 * from before, such as those of the test runner. Returns a function that stops this.
 */
export function watchRejections(): () => void {
  const others = process.listeners('unhandledRejection') as Listener[]
  process.removeAllListeners('unhandledRejection')
  const listener: Listener = (reason, promise) => {
    const program = currentProgram()
    if (program !== undefined) program.rejectedUnhandled(reason)
    // As Node does without a listener.
    else if (others.length === 0) throw reason
    else for (const other of others) other(reason, promise)
  }
  process.on('unhandledRejection', listener)
  return () => {
    process.off('unhandledRejection', listener)
    for (const other of others) process.on('unhandledRejection', other)
  }
}
