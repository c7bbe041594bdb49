import { parseMembership, parseServerSpec } from '@zabra/core'
import { DigestMd5Server, quorumService } from '../../../../packages/server/src/auth/digest-md5.ts'
import { QuorumSaslAcceptor } from '../../../../packages/server/src/auth/quorum-sasl.ts'
import { loadConfig } from '../../../../packages/server/src/config/config.ts'
import { JaasError, parseJaas } from '../../../../packages/server/src/config/jaas.ts'
import { parseServerLine } from '../../../../packages/server/src/config/server-lines.ts'
import { mayRefuse, type Target } from '../target.ts'

const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString('utf8')
const bytesOf = (...texts: readonly string[]): Uint8Array[] =>
  texts.map((each) => new Uint8Array(Buffer.from(each)))

/** Keys that name a file would make the configuration read it. */
const namesFile = /path|file|location|config|dir|sasl/i

/** zoo.cfg: any text gives either a configuration or an error that names the line. */
export const configuration: Target = {
  name: 'configuration',
  seeds: () =>
    bytesOf(
      'tickTime=2000\ndataDir=/tmp/x\nclientPort=2181\ninitLimit=10\nsyncLimit=5\n',
      'dataDir=/d\nserver.1=a:2888:3888;2181\nserver.2=b:2888:3888:observer;0.0.0.0:2181\nmyid=1\n',
      'dataDir=/d\ngroup.1=1:2\ngroup.2=3\nweight.1=1\nserver.1=[::1]:1:2|h:3:4\n',
      '# note\nautopurge.purgeInterval = 1 \nmaxClientCnxns : 60\n4lw.commands.whitelist=*\\\n ,srvr\n',
    ),
  run(input) {
    const lines = text(input).split('\n')
    const kept = lines.filter((line) => !namesFile.test(line.split(/[=: ]/)[0] ?? ''))
    const { config, diagnostics } = loadConfig({ text: `dataDir=/d\n${kept.join('\n')}`, env: {} })
    const isRefused = diagnostics.some(({ severity }) => severity === 'error')
    if ((config === undefined) !== isRefused) throw new Error('a refusal without an error, or both')
  },
}

/** The texts that `reconfig` and the dynamic file contain about members. */
export const members: Target = {
  name: 'members',
  seeds: () =>
    bytesOf(
      'server.1=a:2888:3888:participant;2181\nserver.2=b:1:2;[::]:2181\nversion=100000000',
      'group.1=1:2\ngroup.2=3\nweight.1=2\nserver.1=a:1:2\nserver.2=a:3:4\nserver.3=a:5:6\nversion=1',
      'a:1:2|b:3:4:observer;127.0.0.1:2181;127.0.0.1:2281',
    ),
  run(input) {
    const given = text(input)
    parseMembership(given)
    parseServerSpec(given)
    parseServerLine(1, given)
  },
}

export const jaas: Target = {
  name: 'jaas',
  seeds: () =>
    bytesOf(
      'Server {\n org.apache.zookeeper.server.auth.DigestLoginModule required\n user_a="b\\"c";\n};\n',
      '/* c */ Client { a.B sufficient x="y" z=w; c.D optional; }; // end',
    ),
  run: (input) => mayRefuse([JaasError], () => void parseJaas(text(input))),
}

/** SASL on the quorum port, and the answers of DIGEST-MD5. */
export const sasl: Target = {
  name: 'sasl',
  seeds: () => {
    const packet = Buffer.alloc(16)
    packet.writeBigInt64BE(0x5f2435013501edccn)
    return [
      new Uint8Array(packet),
      ...bytesOf(
        'username="zk",realm="zk-quorum-sasl-md5",nonce="x",nc=00000001,cnonce="y",digest-uri="zookeeper-quorum/zk-quorum-sasl-md5",response=00,qop=auth',
      ),
    ]
  },
  run(input) {
    const users = new Map([['zk', 'secret']])
    const server = new DigestMd5Server(users, quorumService)
    server.answer(new Uint8Array(0))
    if (server.answer(input)?.isOver === true) throw new Error('it proved a password without it')
    let isPassed = false
    const acceptor = new QuorumSaslAcceptor(
      { users, isRequired: true, own: undefined },
      { send() {}, passed: () => void (isPassed = true), refused() {} },
    )
    acceptor.receive(input, input.length)
    if (isPassed) throw new Error('it passed without a password')
  },
}
