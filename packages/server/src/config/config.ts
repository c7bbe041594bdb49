import { parseProperties, type Property } from '@zabra/core'
import { toServerConfig } from './to-server-config.ts'
import { checkTogether } from './checks.ts'
import { Diagnostics } from './diagnostics.ts'
import type { Diagnostic } from './diagnostics.ts'
import { readEnsemble } from './ensemble.ts'
import { readText } from './files.ts'
import type { Values } from './keys.ts'
import { readSasl } from './sasl.ts'
import type { ServerConfig } from './server-config.ts'
import { gather } from './sources.ts'
import type { Environment, Overrides, Sources } from './sources.ts'
import { readValues } from './values.ts'

export { formatDiagnostic } from './diagnostics.ts'
export type { Diagnostic } from './diagnostics.ts'
export { flags, keyOf } from './keys.ts'
export type { ServerConfig } from './server-config.ts'
export type { Overrides } from './sources.ts'

export interface LoadOptions {
  /** Path of a zoo.cfg; without `file` and `text` the server starts on defaults. */
  readonly file?: string | undefined
  /** Its content, when it need not be read; `file` then only names it. */
  readonly text?: string | undefined
  readonly env: Environment
  /** From the command line, by name of the key. */
  readonly overrides?: Overrides | undefined
}

export interface Loaded {
  /** Undefined when there is an error among the diagnostics. */
  readonly config: ServerConfig | undefined
  readonly diagnostics: readonly Diagnostic[]
}

/** zoo.cfg, environment and command line in; a checked configuration and all complaints out. */
export function loadConfig({ file, text, env, overrides = {} }: LoadOptions): Loaded {
  const report = new Diagnostics()
  const hasFile = file !== undefined || text !== undefined
  const configText = text ?? (file === undefined ? '' : readConfigFile(file, report))
  const name = file ?? (text === undefined ? undefined : 'zoo.cfg')
  const properties = configText === undefined ? [] : parse(configText, name, report)
  // Without its file every other complaint would only be a consequence.
  if (configText === undefined) return { config: undefined, diagnostics: report.list }

  const sources = gather({ file: name, properties, env, overrides }, report)
  const values = withoutZeroPort(readValues(sources, hasFile, report), sources, report)
  const findings = readEnsemble(sources, values, report)
  const sasl = readSasl(values, findings.ensemble !== undefined, sources, report)
  checkTogether(values, sources, findings, report)

  const { dataDir } = values
  if (report.failed || dataDir === undefined) return { config: undefined, diagnostics: report.list }
  const config = toServerConfig({
    values,
    sources,
    findings,
    sasl,
    dataDir,
    configText,
    configFile: file,
  })
  return { config, diagnostics: report.list }
}

function readConfigFile(file: string, report: Diagnostics): string | undefined {
  const read = readText(file)
  if ('text' in read) return read.text
  report.error({ file }, read.problem)
  return undefined
}

function parse(text: string, file: string | undefined, report: Diagnostics): readonly Property[] {
  const { properties, problems } = parseProperties(text)
  for (const { line, key, message } of problems) report.error({ file, line, key }, message)
  return properties
}

/** In a zoo.cfg, port 0 has always meant no port; elsewhere it means any free one. */
function withoutZeroPort(values: Values, { given }: Sources, report: Diagnostics): Values {
  const origin = given.get('clientPort')?.origin
  const secureOrigin = given.get('secureClientPort')?.origin
  const isFromFile = origin?.line !== undefined
  if (values.clientPort === 0 && isFromFile) {
    report.notice(origin, 'is 0: there is no plain client port')
  }
  return {
    ...values,
    clientPort: values.clientPort === 0 && isFromFile ? undefined : values.clientPort,
    secureClientPort:
      values.secureClientPort === 0 && secureOrigin?.line !== undefined
        ? undefined
        : values.secureClientPort,
  }
}
