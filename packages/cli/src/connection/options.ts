import type { Options } from '../framework/command.ts'

/** Options of every command that talks to servers. */
export const connectionOptions = {
  servers: {
    type: 'text',
    value: 'HOSTS',
    help: 'HOST:PORT,HOST:PORT/CHROOT, or zk://USER:PASSWORD@HOSTS, or zks:// for TLS',
  },
  context: {
    type: 'text',
    value: 'NAME',
    kind: 'context',
    help: 'servers and identities kept by `zabra context`',
  },
  auth: {
    type: 'text',
    many: true,
    value: 'SCHEME:ID',
    help: 'present an identity, as digest:USER:PASSWORD; @FILE reads one per line',
  },
  timeout: {
    type: 'duration',
    value: 'TIME',
    help: 'how long to wait for a connection and for each answer (5s)',
  },
  sessionTimeout: { type: 'duration', value: 'TIME', help: 'session timeout to ask for (30s)' },
  readOnly: { type: 'flag', help: 'accept a server without a quorum, for reads' },
  tls: { type: 'flag', help: 'connect with TLS' },
  tlsCa: {
    type: 'text',
    value: 'FILE',
    kind: 'file',
    help: 'certificate authorities to trust (PEM)',
  },
  tlsCert: { type: 'text', value: 'FILE', kind: 'file', help: 'client certificate (PEM)' },
  tlsKey: {
    type: 'text',
    value: 'FILE',
    kind: 'file',
    help: 'key of the client certificate (PEM); by default in the file of --tls-cert',
  },
  tlsServerName: {
    type: 'text',
    value: 'NAME',
    help: 'name expected in the certificate of the server',
  },
  tlsInsecure: { type: 'flag', help: 'accept any certificate: for tests only' },
} as const satisfies Options
