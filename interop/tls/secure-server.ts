import { freePorts } from '../../packages/server/test/support/free-ports.ts'
import type { ServerCommand } from '../src/commands.ts'
import { loopback, ManagedServer } from '../src/servers.ts'
import { superUserCfg } from '../src/super-user.ts'
import { storePassword, type Pki } from './pki.ts'

export type StoreForm = 'pem' | 'p12' | 'jks'
export type ClientAuth = 'none' | 'want' | 'need'

export interface SecureOptions {
  readonly form: StoreForm
  readonly clientAuth: ClientAuth
  /** Additional lines of zoo.cfg. */
  readonly cfg?: string
}

/** A standalone server with a plain port, a TLS port, and SASL users. */
export class SecureServer {
  readonly managed: ManagedServer
  readonly securePort: number

  static async start(
    command: ServerCommand,
    pki: Pki,
    options: SecureOptions,
  ): Promise<SecureServer> {
    const [port, securePort] = (await freePorts(2)) as [number, number]
    const server = new SecureServer(command, pki, options, port, securePort)
    await server.managed.start()
    return server
  }

  private constructor(
    command: ServerCommand,
    pki: Pki,
    { form, clientAuth, cfg = '' }: SecureOptions,
    port: number,
    securePort: number,
  ) {
    this.securePort = securePort
    const password = form === 'pem' ? '' : storePassword
    const lines = `
tickTime=500
maxClientCnxns=0
4lw.commands.whitelist=*
extendedTypesEnabled=true
serverCnxnFactory=org.apache.zookeeper.server.NettyServerCnxnFactory
secureClientPort=${securePort}
secureClientPortAddress=${loopback}
ssl.keyStore.location=${pki.path(`server.${form}`)}
ssl.keyStore.password=${password}
ssl.trustStore.location=${pki.path(`ca.${form}`)}
ssl.trustStore.password=${password}
ssl.clientAuth=${clientAuth}
ssl.enabledProtocols=TLSv1.2,TLSv1.3
fips-mode=false
authProvider.sasl=org.apache.zookeeper.server.auth.SASLAuthenticationProvider
X509AuthenticationProvider.superUser=CN=root,O=zabra
${superUserCfg}
${cfg}
`
    const properties = [`java.security.auth.login.config=${pki.path('server.jaas')}`]
    this.managed = new ManagedServer(command, { cfg: lines, properties, port })
  }

  get port(): number {
    return this.managed.port
  }
}
