import { defineRawCommand } from '../framework/command.ts'

export const command = defineRawCommand({
  words: 'file',
  async run(args) {
    const { runServer } = await import('@zabra/server')
    return runServer(args)
  },
})
