import { resolve } from 'node:path'
import { UsageError } from '../framework/errors.ts'
import type { IdentityText } from './settings.ts'

/** TLS by files, as options and contexts name them. */
export interface TlsFiles {
  readonly ca?: string | undefined
  readonly cert?: string | undefined
  readonly key?: string | undefined
  readonly serverName?: string | undefined
  readonly insecure?: boolean | undefined
  /** The certificate is checked, but not the name in it. */
  readonly anyName?: boolean | undefined
}

/** The content of a connection string or a context. */
export interface Target {
  readonly servers: string
  readonly auth: readonly IdentityText[]
  readonly tls?: TlsFiles | undefined
  readonly timeoutMs?: number | undefined
  readonly sessionTimeoutMs?: number | undefined
  readonly readOnly?: boolean | undefined
}

/**
 * `host:port,host:port/chroot`, as all clients take it, or the same as a URL:
 * `zk://user:password@host:port,host:port/chroot`; `zks://` is TLS, with `?ca=FILE&cert=FILE&key=FILE`.
 * Without `key`, the file of the certificate contains the key.
 */
export function parseTarget(text: string): Target {
  const url = /^(zks?):\/\/(?:([^@/]*)@)?([^/?]+)(\/[^?]*)?(?:\?(.*))?$/.exec(text)
  if (url === null) {
    if (/^[a-z]+:\/\//i.test(text) || text.trim() === '')
      throw new UsageError(
        `'${text.replace(/\/\/[^@/]*@/, '//...@')}' is not a connection string`,
        'HOST:PORT,HOST:PORT/CHROOT, zk://HOSTS or zks://HOSTS',
      )
    return { servers: text, auth: [] }
  }
  const [, scheme, user, hosts = '', chroot = '', query] = url
  const params = new URLSearchParams(query)
  const file = (name: string): string | undefined => {
    const value = params.get(name)
    return value === null ? undefined : resolve(value)
  }
  for (const name of params.keys()) {
    if (!queryNames.includes(name))
      throw new UsageError(
        `a connection string has no '${name}'`,
        `it may have ${queryNames.join(', ')}`,
      )
  }
  return {
    servers: hosts + (chroot === '/' ? '' : decodeURI(chroot)),
    auth: user === undefined ? [] : [{ scheme: 'digest', credentials: decodeURIComponent(user) }],
    tls:
      scheme === 'zks'
        ? {
            ca: file('ca'),
            cert: file('cert'),
            key: file('key'),
            serverName: params.get('serverName') ?? undefined,
            insecure: params.has('insecure') ? true : undefined,
          }
        : undefined,
  }
}

const queryNames = ['ca', 'cert', 'key', 'serverName', 'insecure']

/** The text that `parseTarget` reads as these servers with these files. */
export function secureConnectionString(servers: string, { ca, cert, key }: TlsFiles): string {
  const query = Object.entries({ ca, cert, key }).flatMap(([name, path]) =>
    path === undefined ? [] : [`${name}=${encodeURIComponent(path).replaceAll('%2F', '/')}`],
  )
  return `zks://${servers}?${query.join('&')}`
}
