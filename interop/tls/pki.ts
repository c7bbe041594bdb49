import { join } from 'node:path'
import { Authority } from '../../packages/server/test/support/certificates.ts'
import { runTool } from '../src/tools.ts'

export const storePassword = 'interop-1'

/** A user of SASL, and the users of servers. */
export const saslUser = { name: 'bob', password: 'secret' } as const

/**
 * Certificates of one authority in every format that servers and clients read: PEM as issued here,
 * PKCS12 and JKS as keytool and OpenSSL convert them.
 */
export class Pki {
  readonly authority = new Authority('Interop CA')
  readonly stranger = new Authority('Stranger', this.authority.path('stranger'))

  static async make(): Promise<Pki> {
    const pki = new Pki()
    pki.authority.issueFile('server')
    pki.authority.issueFile('alice')
    pki.stranger.issueFile('mallory')
    await pki.convert()
    pki.writeLogins()
    return pki
  }

  path(name: string): string {
    return this.authority.path(name)
  }

  dispose(): void {
    this.authority.dispose()
  }

  private async convert(): Promise<void> {
    const { authority } = this
    const cwd = authority.folder
    const run = async (command: string, ...args: string[]): Promise<void> => {
      const { ok, output } = await runTool(command, args, { cwd })
      if (!ok) throw new Error(`${command} ${args[0]}: ${output}`)
    }
    for (const name of ['server', 'alice']) {
      const pass = ['-passout', `pass:${storePassword}`]
      await run(
        'openssl',
        'pkcs12',
        '-export',
        '-in',
        `${name}.pem`,
        '-name',
        name,
        ...pass,
        '-out',
        `${name}.p12`,
      )
      const from = ['-srckeystore', `${name}.p12`, '-srcstorepass', storePassword]
      const to = [
        '-destkeystore',
        `${name}.jks`,
        '-deststoretype',
        'JKS',
        '-deststorepass',
        storePassword,
      ]
      await run('keytool', '-importkeystore', '-noprompt', ...from, ...to)
    }
    for (const [file, type] of [
      ['ca.jks', 'JKS'],
      ['ca.p12', 'PKCS12'],
    ] as const) {
      const into = ['-keystore', file, '-storetype', type, '-storepass', storePassword]
      await run('keytool', '-importcert', '-noprompt', '-file', 'ca.pem', '-alias', 'ca', ...into)
    }
  }

  private writeLogins(): void {
    const { authority } = this
    const module = 'org.apache.zookeeper.server.auth.DigestLoginModule required'
    const { name, password } = saslUser
    authority.write(
      'server.jaas',
      `Server { ${module} user_${name}="${password}" user_super="geheim"; };
       QuorumServer { ${module} user_zk="${password}"; };
       QuorumLearner { ${module} username="zk" password="${password}"; };\n`,
    )
    for (const [file, secret] of [
      ['client.jaas', password],
      ['wrong.jaas', 'no'],
    ] as const) {
      authority.write(file, `Client { ${module} username="${name}" password="${secret}"; };\n`)
    }
  }
}

/** The path of a part of this suite. */
export const here = (name: string): string => join(import.meta.dirname, name)
