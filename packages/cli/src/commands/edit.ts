import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isRefusal } from '@zabra/client'
import { defineCommand } from '../framework/command.ts'
import { CommandError } from '../framework/errors.ts'
import { exitCodes } from '../framework/exit-codes.ts'
import { textOf } from '../node/data.ts'
import { runProgram } from '../node/run-program.ts'
import { cleanPath, nameOf } from '../node/paths.ts'
import { statJson } from '../node/stat.ts'

export const command = defineCommand({
  arguments: { path: { kind: 'path' } },
  options: {
    editor: { type: 'text', value: 'PROGRAM', help: 'instead of $VISUAL, $EDITOR or vi' },
    yes: { type: 'flag', short: 'y', help: 'save the text even if it was JSON and no longer is' },
  },
  details: `Opens the data in an editor, and saves it unless another client has changed the node in the meantime. In that case
nothing is saved, and your text is kept in a file. If the editor fails or the text is unchanged, the node stays as
it is.`,
  examples: [
    ['zabra edit /config', 'in $EDITOR'],
    ["zabra edit /config --editor 'code --wait'", 'in another editor'],
  ],
  async run({ args, options, out, io, connect, confirm, handOver }) {
    const path = cleanPath(args.path)
    const client = await connect({ isLasting: true })
    const { data, stat } = await client.get(path)
    const before = textOf(data)
    if (before === undefined)
      throw new CommandError(`the data of ${path} is not text`, {
        hint: `\`zabra get --raw ${path} > FILE\` and \`zabra set ${path} --file FILE\` do`,
      })
    const folder = await mkdtemp(join(tmpdir(), 'zabra-edit-'))
    const draft = join(folder, `${nameOf(path) || 'root'}${isJson(before) ? '.json' : '.txt'}`)
    let keeps = false
    try {
      await writeFile(draft, data, { mode: 0o600 })
      const editor = options.editor ?? io.env['VISUAL'] ?? io.env['EDITOR'] ?? 'vi'
      const code = await handOver(() => runProgram([...editor.split(/\s+/), draft], io))
      if (code !== 0)
        throw new CommandError(`the editor ended with ${code}, so nothing was saved`, {
          hint: '--editor, VISUAL or EDITOR name an editor',
        })
      const after = await readFile(draft)
      if (after.equals(data)) {
        if (out.json) await out.data({ path, isChanged: false, stat: statJson(stat) })
        else out.note('no change')
        return
      }
      if (isJson(before) && !isJson(textOf(after)) && options.yes !== true) {
        keeps = true
        if (!(await confirm(`${path} was valid JSON and no longer is. Save?`, '--yes'))) {
          out.note(`nothing was saved; your text is in ${draft}`)
          return exitCodes.no
        }
      }
      keeps = true
      const saved = await client.set(path, after, { ifVersion: stat.version })
      keeps = false
      if (out.json) await out.data({ path, isChanged: true, stat: statJson(saved) })
      else out.note(`saved version ${saved.version}`)
    } catch (error) {
      if (!isRefusal(error, 'badVersion', 'noNode')) throw error
      throw new CommandError(
        `somebody ${error.reason === 'noNode' ? 'deleted' : 'changed'} ${path} meanwhile, so nothing was saved`,
        {
          code: error.code,
          exitCode: exitCodes.conflict,
          hint: `your text is in ${draft}`,
        },
      )
    } finally {
      if (!keeps) await rm(folder, { recursive: true, force: true })
    }
  },
})

function isJson(text: string | undefined): boolean {
  if (text === undefined || !/^\s*[[{]/.test(text)) return false
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
