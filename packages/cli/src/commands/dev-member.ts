import { defineRawCommand } from '../framework/command.ts'

/** A server of `zabra dev`: it stops when its stdin ends, as when `zabra dev` is killed. */
export const command = defineRawCommand({
  async run(args) {
    const { runServer } = await import('@zabra/server')
    process.stdin.on('error', () => {})
    process.stdin.on('close', () => process.kill(process.pid, 'SIGTERM'))
    process.stdin.resume()
    return runServer(args)
  },
})
