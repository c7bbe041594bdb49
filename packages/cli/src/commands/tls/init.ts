import { resolve } from 'node:path'
import { initTls, InitTlsError, tlsConfigLines } from '@zabra/server'
import { defineCommand } from '../../framework/command.ts'
import { CommandError, UsageError } from '../../framework/errors.ts'
import { exitCodes } from '../../framework/exit-codes.ts'

const defaultDays = 365
const authorityDays = 3650

export const command = defineCommand({
  arguments: { directory: { kind: 'file', help: 'where to write the files' } },
  options: {
    server: {
      type: 'text',
      many: true,
      value: 'NAME[=HOST,...]',
      help: 'a server, and its host names and addresses (by default its name)',
    },
    client: { type: 'text', many: true, value: 'NAME', help: 'a client, CN=NAME in ACLs' },
    days: { type: 'integer', min: 1, help: `how long certificates are valid (${defaultDays})` },
    organization: { type: 'text', help: 'the O of every name (zabra)' },
    renew: { type: 'flag', help: 'replace existing certificates of the named servers and clients' },
  },
  offline: true,
  details: `Writes ca.pem and ca-key.pem, NAME.pem for each server and client-NAME.pem for each client: PEM files that zabra, Apache ZooKeeper and their clients read. When run again, it adds to the same authority and
keeps existing files. Keep ca-key.pem away from the servers: it can create a certificate for anybody.`,
  examples: [
    [
      'zabra tls init certs --server zk1 --server zk2 --server zk3 --client app',
      'an ensemble and a client',
    ],
    ['zabra tls init certs --server zk1=zk1.example.com,10.0.0.1', 'a server with several names'],
    ['zabra tls init certs --server zk1 --renew', 'a new certificate, which running servers load'],
  ],
  async run({ args, options, out }) {
    const servers = (options.server ?? []).map(parseServer)
    const clients = options.client ?? []
    if (servers.length + clients.length === 0) {
      throw new UsageError('no --server and no --client', 'name those who need a certificate')
    }
    const days = options.days ?? defaultDays
    if (days < 1) throw new UsageError('--days must be at least 1')
    const { directory } = args
    const organization = options.organization ?? 'zabra'
    const renew = options.renew === true
    try {
      const files = initTls({
        directory,
        servers,
        clients,
        organization,
        days,
        authorityDays,
        renew,
      })
      const config = servers.map(({ name }) => ({
        server: name,
        lines: tlsConfigLines(resolve(directory), name),
      }))
      if (out.json) {
        await out.data({ files, config })
        return
      }
      for (const { path, what, subject, validUntil, isKept } of files) {
        const until = validUntil.toISOString().slice(0, 10)
        const kept = isKept ? ', kept as it was' : ''
        out.line(`${path}  ${what}, ${subject}, until ${until}${kept}`)
      }
      for (const { server, lines } of config.slice(0, 1)) {
        out.line(`\nIn the zoo.cfg of ${server}, and of the others with their own key store:\n`)
        for (const line of lines) out.line(`  ${line}`)
      }
    } catch (error) {
      if (!(error instanceof InitTlsError)) throw error
      throw new CommandError(error.message, { exitCode: exitCodes.failed, cause: error })
    }
  },
})

function parseServer(text: string): { name: string; hosts: string[] } {
  const equals = text.indexOf('=')
  if (equals < 0) return { name: text, hosts: [text] }
  const hosts = text.slice(equals + 1).split(',')
  return { name: text.slice(0, equals), hosts: hosts.filter((host) => host !== '') }
}
