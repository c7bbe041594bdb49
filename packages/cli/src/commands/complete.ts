import { defineRawCommand } from '../framework/command.ts'

export const command = defineRawCommand({
  async run(words) {
    const { complete } = await import('../completion/complete.ts')
    const { processIo } = await import('../framework/io.ts')
    const { commands } = await import('../table/index.ts')
    const { candidates, mode } = await complete(
      commands,
      words[0] === '--' ? words.slice(1) : words,
      {
        env: processIo.env,
      },
    )
    process.stdout.write(
      `:${mode}\n${candidates.map((one) => `${one.word}\t${one.help}\n`).join('')}`,
    )
    return 0
  },
})
