import { resolve } from 'node:path'
import { connectionOptions } from '../../connection/options.ts'
import { readContexts, writeContexts, type Context } from '../../connection/contexts.ts'
import { parseIdentities } from '../../connection/settings.ts'
import { parseTarget, type TlsFiles } from '../../connection/target.ts'
import { defineCommand } from '../../framework/command.ts'
import { UsageError } from '../../framework/errors.ts'

const { context: _context, ...kept } = connectionOptions

export const command = defineCommand({
  offline: true,
  arguments: { name: { kind: 'text' } },
  options: kept,
  details: `Contexts are stored in ~/.config/zabra/contexts.json, readable only by its owner. The first context becomes the
current one.`,
  examples: [
    [
      'zabra context add prod --servers zk1:2181,zk2:2181,zk3:2181/app',
      'three servers and a chroot',
    ],
    [
      'zabra context add safe --servers zks://zk1:2281 --tls-ca ca.pem --auth digest:ann:secret',
      'TLS and an identity',
    ],
  ],
  async run({ args, options, out, io }) {
    const { name } = args
    const { servers, auth, timeout, sessionTimeout, readOnly } = options
    if (!/^[\w.-]+$/.test(name))
      throw new UsageError(
        `'${name}' is not a valid name of a context`,
        'letters, digits, ., - and _ make one',
      )
    if (servers === undefined) throw new UsageError('--servers is missing')
    parseTarget(servers)
    for (const identity of auth ?? []) parseIdentities(identity)
    const tls = tlsFiles(options)
    const context: Context = {
      servers,
      ...(auth === undefined ? {} : { auth }),
      ...(tls === undefined ? {} : { tls }),
      ...(timeout === undefined ? {} : { timeoutMs: timeout }),
      ...(sessionTimeout === undefined ? {} : { sessionTimeoutMs: sessionTimeout }),
      ...(readOnly === undefined ? {} : { readOnly }),
    }
    const { current, contexts } = readContexts(io.env)
    writeContexts(io.env, { current: current ?? name, contexts: { ...contexts, [name]: context } })
    if (out.json) await out.data({ name, isCurrent: (current ?? name) === name })
    else if (current === undefined) out.note(`context ${name} is the current one now`)
  },
})

function tlsFiles(options: {
  readonly tls?: true
  readonly tlsCa?: string
  readonly tlsCert?: string
  readonly tlsKey?: string
  readonly tlsServerName?: string
  readonly tlsInsecure?: true
}): TlsFiles | undefined {
  const file = (path: string | undefined) => (path === undefined ? undefined : resolve(path))
  const tls: TlsFiles = {
    ca: file(options.tlsCa),
    cert: file(options.tlsCert),
    key: file(options.tlsKey),
    serverName: options.tlsServerName,
    insecure: options.tlsInsecure,
  }
  const isAsked = options.tls === true || Object.values(tls).some((value) => value !== undefined)
  return isAsked ? tls : undefined
}
