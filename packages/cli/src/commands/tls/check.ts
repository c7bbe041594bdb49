import { existsSync } from 'node:fs'
import {
  checkTls,
  describeTlsReport,
  formatDiagnostic,
  loadConfig,
  servedCertificates,
} from '@zabra/server'
import { defineCommand } from '../../framework/command.ts'
import { speaksPlain } from '../../connection/tls-advice.ts'
import { networkReason } from '../../ensemble/network-reason.ts'
import { CommandError } from '../../framework/errors.ts'
import { exitCodes } from '../../framework/exit-codes.ts'

const timeoutMs = 5000

export const command = defineCommand({
  arguments: { target: { kind: 'file', help: 'a zoo.cfg, or HOST:PORT of a running server' } },
  options: {
    env: { type: 'flag', help: 'include the ZABRA_ and JVM variables of this environment' },
  },
  offline: true,
  details: `For a zoo.cfg, it reads the stores and reports who connects how, which certificate is served and until when, and
what is wrong. For a running server, it reports the certificate in use. Exit code 1 means that something is wrong.`,
  examples: [
    ['zabra tls check /etc/zookeeper/zoo.cfg', 'before a server starts with it'],
    ['zabra tls check zk1.example.com:2281', 'the certificate in use, and its end date'],
  ],
  async run({ args, options, out, io }) {
    const { target } = args
    const [, host, port] = /^(.+):(\d+)$/.exec(target) ?? []
    if (host !== undefined && !existsSync(target)) {
      const served = await servedCertificates(
        host.replace(/^\[(.*)\]$/, '$1'),
        Number(port),
        timeoutMs,
      ).catch((cause: Error) => {
        throw new CommandError(`${target}: ${networkReason(cause)}`, {
          code: 'unreachable',
          exitCode: exitCodes.unavailable,
          hint: speaksPlain(cause)
            ? 'the port seems to speak no TLS; secureClientPort in its zoo.cfg names the one that does'
            : undefined,
          cause,
        })
      })
      const isExpired = served.chain.some(({ validUntil }) => validUntil.getTime() < Date.now())
      if (out.json) await out.data(served)
      else {
        out.line(`${target} speaks ${served.protocol} and serves`)
        for (const { subject, names, issuer, serial, validUntil } of served.chain) {
          const named = names.length === 0 ? '' : ` (${names.join(', ')})`
          const until = validUntil.toISOString().slice(0, 10)
          out.line(`  ${subject}${named}, serial ${serial}, issued by ${issuer}, until ${until}`)
        }
      }
      return isExpired ? exitCodes.no : exitCodes.ok
    }
    const env = options.env === true ? io.env : {}
    const { config, diagnostics } = loadConfig({ file: target, env })
    const problems = diagnostics.filter(({ severity }) => severity === 'error')
    if (config === undefined) {
      throw new CommandError(problems.map(formatDiagnostic).join('\n'), {
        hint: 'zabra config check tells more',
      })
    }
    const reports = checkTls(config)
    const isFine = reports.every(({ errors, warnings }) => errors.length + warnings.length === 0)
    if (out.json) await out.data(reports.map((report) => ({ ...report, settings: undefined })))
    else out.line(describeTlsReport(reports).trimEnd())
    return isFine ? exitCodes.ok : exitCodes.no
  },
})
