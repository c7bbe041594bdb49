import { readFileSync } from 'node:fs'
import { explainConfig, loadConfig } from '@zabra/server'
import { defineCommand } from '../../framework/command.ts'
import { exitCodes } from '../../framework/exit-codes.ts'

export const command = defineCommand({
  arguments: { file: { kind: 'file', help: 'a zoo.cfg of zabra or Apache' } },
  options: {
    brief: { type: 'flag', help: 'only problems and dangers, not every line' },
    env: { type: 'flag', help: 'include the ZABRA_ and JVM variables of this environment' },
  },
  offline: true,
  details: `Explains each line: what it does, where zabra differs from Apache ZooKeeper, whether it has no effect here, and
whether it is dangerous. Exit code 1 means that a server would not start with this file.`,
  examples: [
    ['zabra config check /etc/zookeeper/zoo.cfg', 'before a move from Apache'],
    ['zabra config check zoo.cfg --brief', 'only what needs attention'],
  ],
  async run({ args, options, out, io }) {
    const { file } = args
    const text = readFileSync(file, 'utf8')
    const { diagnostics } = loadConfig({ file, env: options.env === true ? io.env : {} })
    const lines = explainConfig(text)
    const isFine = diagnostics.every(({ severity }) => severity !== 'error')
    if (out.json) {
      await out.data({ ok: isFine, diagnostics, lines })
      return isFine ? exitCodes.ok : exitCodes.no
    }
    const { bold, red, yellow, dim } = out.style
    const said = new Set<object>()
    for (const { line, key, value, meaning, fallback, differs, unused, danger } of lines) {
      const own = diagnostics.filter((each) => each.line === line && each.file === file)
      if (options.brief === true && own.length === 0 && danger === undefined) continue
      out.line(bold(`${line}: ${key}=${secret(key) ? '***' : value}`))
      if (options.brief !== true) {
        if (meaning !== undefined)
          out.line(`   ${meaning}${fallback === undefined ? '' : dim(` (default: ${fallback})`)}`)
        if (unused !== undefined) out.line(yellow(`   no effect: ${unused}`))
        if (differs !== undefined) out.line(yellow(`   differs from Apache: ${differs}`))
      }
      if (danger !== undefined) out.line(red(`   danger: ${danger}`))
      for (const each of own) {
        said.add(each)
        out.line((each.severity === 'error' ? red : yellow)(`   ${each.severity}: ${each.message}`))
      }
    }
    for (const each of diagnostics) {
      if (said.has(each)) continue
      const place = each.key === undefined ? '' : `${each.key}: `
      out.line(
        (each.severity === 'error' ? red : yellow)(`${each.severity}: ${place}${each.message}`),
      )
    }
    out.line(
      isFine ? 'a server starts with this file' : red('a server would not start with this file'),
    )
    return isFine ? exitCodes.ok : exitCodes.no
  },
})

const secret = (key: string): boolean => /password|superDigest/i.test(key)
