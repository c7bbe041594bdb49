import { expect, test } from 'vitest'
import { formatDiagnostic, loadConfig } from './config.ts'
import type { LoadOptions, ServerConfig } from './config.ts'

const minimal = 'dataDir=/data\nclientPort=2181\n'

function load(text: string, rest: Partial<LoadOptions> = {}): ServerConfig {
  const { config, diagnostics } = loadConfig({ text, env: {}, ...rest })
  expect(diagnostics.filter(({ severity }) => severity === 'error')).toEqual([])
  return config!
}

function complaints(text: string, rest: Partial<LoadOptions> = {}): string[] {
  const { diagnostics } = loadConfig({ text, env: {}, ...rest })
  return diagnostics.map((each) => `${each.severity}: ${formatDiagnostic(each)}`)
}

test('without a file the server listens on 2181 and keeps its data in ./data', () => {
  const { config, diagnostics } = loadConfig({ env: {} })
  expect(diagnostics).toEqual([])
  expect(config).toMatchObject({
    clientPort: 2181,
    dataDir: './data',
    dataLogDir: './data',
    tickMs: 2000,
    sessionTimeoutMsMin: 4000,
    sessionTimeoutMsMax: 40_000,
    ensemble: undefined,
    configText: '',
  })
})

test('a file without tickTime has ticks of 3000 ms, as in Apache ZooKeeper', () => {
  expect(load(minimal)).toMatchObject({ tickMs: 3000, sessionTimeoutMsMax: 60_000 })
})

test('a file must set dataDir', () => {
  expect(complaints('clientPort=2181')).toEqual(['error: dataDir: must be set'])
})

test('a missing file is the only error', () => {
  const { config, diagnostics } = loadConfig({ file: '/no/such/zoo.cfg', env: {} })
  expect(config).toBeUndefined()
  expect(diagnostics.map(formatDiagnostic)).toEqual(['/no/such/zoo.cfg: there is no such file'])
})

test('all errors are collected, each with its file, line and key', () => {
  const text = 'dataDir=/d\ntickTime=2s\nclientPort=70000\nlocalSessionsEnabled=yes\nelectionAlg=2'
  expect(complaints(text, { file: 'zoo.cfg' }).toSorted()).toEqual([
    'error: zoo.cfg:2: tickTime: expected a whole number, got "2s"',
    'error: zoo.cfg:3: clientPort: must be at most 65535, got 70000',
    'error: zoo.cfg:4: localSessionsEnabled: expected true or false, got "yes"',
    'error: zoo.cfg:5: electionAlg: must be 3, got 2',
  ])
})

test('a malformed property is a warning, and the default applies', () => {
  const text = `${minimal}snapCount=many\ndigest.enabled=yes\nadmin.enableServer=maybe`
  expect(load(text)).toMatchObject({
    snapCount: 100_000,
    digests: false,
    admin: { enabled: true },
  })
  expect(complaints(text)).toContain(
    'warning: zoo.cfg:3: snapCount: expected a whole number, got "many"; 100000 is used',
  )
})

test('properties accept the prefixes of Java numbers, settings do not', () => {
  expect(load(`${minimal}jute.maxbuffer=0x9fffff\nsnapCount=010`)).toMatchObject({
    juteMaxBuffer: 0x9fffff,
    juteMaxBufferExtra: 0x9fffff,
    snapCount: 8,
  })
  expect(load(`${minimal}maxClientCnxns=010`).maxClientCnxns).toBe(10)
})

test('an unknown key is kept as a system property, with a suggestion', () => {
  expect(complaints(`${minimal}clientport=1\nquite.different=x`)).toEqual([
    'warning: zoo.cfg:3: clientport: unknown key, kept as the system property zookeeper.clientport; did you mean clientPort?',
    'warning: zoo.cfg:4: quite.different: unknown key, kept as the system property zookeeper.quite.different',
  ])
  const { systemProperties } = load(`${minimal}quite.different=x`)
  expect(systemProperties.get('zookeeper.quite.different')).toBe('x')
})

test('a key without effect gets a notice that explains it', () => {
  expect(complaints(`${minimal}nio.numWorkerThreads=4`)).toEqual([
    'notice: zoo.cfg:3: nio.numWorkerThreads: has no effect here: it tunes threads; this server has one event loop',
  ])
})

test('of two equal keys the last one applies, and the first gets a warning', () => {
  expect(load(`${minimal}tickTime=1\ntickTime=2000`).tickMs).toBe(2000)
  expect(complaints(`${minimal}tickTime=1\ntickTime=2000`)).toEqual([
    'warning: zoo.cfg:4: tickTime: already set on line 3; this line counts',
  ])
})

test('the file wins over -D, and JVMFLAGS over SERVER_JVMFLAGS', () => {
  const env = {
    SERVER_JVMFLAGS: '-Dzookeeper.snapCount=5 -Dzookeeper.maxCnxns=7 -Dzookeeper.preAllocSize=64',
    JVMFLAGS: '-Dzookeeper.preAllocSize=128',
  }
  const config = load(`${minimal}snapCount=9`, { env })
  expect(config).toMatchObject({ snapCount: 9, maxCnxns: 7, preAllocBytes: 128 * 1024 })
  expect(config.systemProperties.get('zookeeper.snapCount')).toBe('9')
  expect(config.systemProperties.get('zookeeper.maxCnxns')).toBe('7')
})

test('a property without the prefix zookeeper. may be in the file, but -D wins over it', () => {
  const text = `${minimal}jute.maxbuffer=1000\nznode.container.maxPerMinute=5`
  expect(load(text)).toMatchObject({ juteMaxBuffer: 1000, reclaim: { perMinuteMax: 5 } })
  const env = { JVMFLAGS: '-Djute.maxbuffer=2000' }
  expect(load(text, { env }).juteMaxBuffer).toBe(2000)
})

test('a key in the file may have the prefix zookeeper.', () => {
  expect(load(`${minimal}zookeeper.snapCount=9`).snapCount).toBe(9)
})

test('values of -D can be quoted, and other flags of Java get a notice', () => {
  const flags = `-Xmx1g "-Dzookeeper.4lw.commands.whitelist=stat, ruok" -Dzookeeper.DigestAuthenticationProvider.superDigest='super:a b'`
  const env = { SERVER_JVMFLAGS: flags }
  const config = load(minimal, { env })
  expect(config.fourLetterWords).toEqual(new Set(['stat', 'ruok', 'srvr']))
  expect(config.superDigest).toBe('super:a b')
  expect(complaints(minimal, { env })).toEqual([
    'notice: SERVER_JVMFLAGS: -Xmx1g is for Java and has no effect here',
  ])
})

test('a setting of the file has no effect as a system property', () => {
  const env = { JVMFLAGS: '-Dzookeeper.clientPort=99' }
  expect(load(minimal, { env }).clientPort).toBe(2181)
  expect(complaints(minimal, { env })).toEqual([
    'warning: JVMFLAGS: zookeeper.clientPort: has no effect as a system property; write it in the configuration file',
  ])
})

test('the environment wins over the file, and the command line over both', () => {
  const env = { ZABRA_CLIENT_PORT: '5', ZABRA_DATA_DIR: '/e', ZABRA_ADMIN_SERVER_PORT: '6' }
  const config = load(minimal, { env, overrides: { clientPort: 0 } })
  expect(config).toMatchObject({ clientPort: 0, dataDir: '/e', admin: { port: 6 } })
  expect(complaints(minimal, { env: { ZABRA_CLIENT_PORT: 'x' } })[0]).toBe(
    'error: environment: ZABRA_CLIENT_PORT: expected a whole number, got "x"',
  )
  expect(complaints(minimal, { overrides: { clientPort: 'x' } })[0]).toBe(
    'error: command line: --port: expected a whole number, got "x"',
  )
})

test('a misspelt variable of the environment is pointed out', () => {
  expect(complaints(minimal, { env: { ZABRA_CLIENTPORT: '1', ZABRA_COLOUR: 'x' } })).toEqual([
    'warning: environment: ZABRA_CLIENTPORT: did you mean ZABRA_CLIENT_PORT?',
  ])
})

test('port 0 in a file means no client port', () => {
  expect(load('dataDir=/d\nclientPort=0').clientPort).toBeUndefined()
})

test.each([
  ['minSessionTimeout=9\nmaxSessionTimeout=8', /^error: .*:3: minSessionTimeout: is 9 ms, more/],
  ['forceSync=no', /^warning: .*forceSync: .*lose acknowledged writes/],
  ['autopurge.snapRetainCount=1', /^warning: .*must be at least 3; 3 is used/],
  ['secureClientPortAddress=::1', /^error: .*secureClientPort is not/],
  ['enforce.auth.enabled=true', /^error: .*enforce.auth.schemes is empty/],
  ['sessionRequireClientSASLAuth=true', /^error: .*needs the scheme sasl/],
  ['admin.serverPort=2181', /^warning: .*is 2181, and so is clientPort/],
  ['4lw.commands.whitelist=stats', /^warning: .*there is no four-letter word stats/],
  ['DigestAuthenticationProvider.digestAlg=MD5', /^error: .*expected one of SHA1/],
  ['dataLogDir=logs', /^notice: .*relative/],
])('%s is complained about', (line, expected) => {
  expect(complaints(minimal + line)).toContainEqual(expect.stringMatching(expected))
})

test('a port that is refused is not called missing', () => {
  expect(complaints('dataDir=/d\nclientPort=70000\nclientPortAddress=::1')).toEqual([
    'error: zoo.cfg:2: clientPort: must be at most 65535, got 70000',
  ])
})

const three = `${minimal}initLimit=5\nsyncLimit=2\nmyid=1
server.1=a:1:2\nserver.2=b:1:2\nserver.3=c:1:2\n`

test.each([
  ['secureClientPort=2281', 'secureClientPort', 'ssl.'],
  ['client.portUnification=true', 'client.portUnification', 'ssl.'],
  ['sslQuorum=true', 'sslQuorum', 'ssl.quorum.'],
  ['portUnification=true', 'portUnification', 'ssl.quorum.'],
  ['admin.forceHttps=true', 'admin.forceHttps', 'ssl.quorum.'],
  ['admin.portUnification=true', 'admin.portUnification', 'ssl.quorum.'],
  ['ssl.admin.keyStore.location=\nadmin.forceHttps=true', 'admin.forceHttps', 'ssl.admin.'],
])('%s needs a key', (lines, key, prefix) => {
  expect(complaints(`${three}${lines}`)).toContainEqual(
    expect.stringMatching(`^error: zoo.cfg:\\d+: ${key}: needs ${prefix}keyStore.location`),
  )
})

test('certificates of administrators are asked for over TLS alone', () => {
  expect(complaints(`${minimal}admin.needClientAuth=true`)).toEqual([
    'error: zoo.cfg:3: admin.needClientAuth: is true, but without admin.forceHttps nobody can present a certificate',
  ])
  expect(complaints(`${minimal}admin.wantClientAuth=true`)).toEqual([
    'error: zoo.cfg:3: admin.wantClientAuth: is true, but without admin.forceHttps or admin.portUnification nobody can present a certificate',
  ])
})

test.each([
  ['ssl.quorum.clientAuth=none', 'ssl.quorum.clientAuth: is none: anybody who reaches'],
  ['ssl.quorum.clientAuth=want', 'ssl.quorum.clientAuth: is want: anybody who reaches'],
  ['portUnification=true', 'portUnification: is true, so servers are accepted without TLS as well'],
])('with TLS between servers, %s is a warning', (line, message) => {
  const secure = `${three}sslQuorum=true\nssl.quorum.keyStore.location=/k.pem\n`
  const found = complaints(`${secure}${line}`).filter((each) => each.startsWith('warning'))
  expect(found).toEqual([expect.stringContaining(message)])
})

test('planned keys have no effect', () => {
  expect(complaints(`${minimal}emulate353TTLNodes=true`)).toEqual([
    'warning: zoo.cfg:3: emulate353TTLNodes: is not offered yet and has no effect',
  ])
})

test('enforced SASL is accepted if its provider is configured', () => {
  const provider = 'org.apache.zookeeper.server.auth.SASLAuthenticationProvider'
  const text = `${minimal}authProvider.1=${provider}\nsessionRequireClientSASLAuth=true`
  expect(load(text)).toMatchObject({
    requiredSchemes: ['sasl'],
    authProviders: new Map([['1', provider]]),
  })
})

test('harmless four-letter words are on by default; a list is taken exactly, plus srvr', () => {
  const words = load(minimal).fourLetterWords
  expect(words).toContain('mntr')
  expect(words).not.toContain('wchc')
  expect(words).not.toContain('stmk')
  expect(load(`${minimal}4lw.commands.whitelist=`).fourLetterWords).toEqual(new Set(['srvr']))
  expect(load(`${minimal}4lw.commands.whitelist= *`).fourLetterWords).toBe('all')
  expect(
    load(`${minimal}4lw.commands.whitelist=ruok\nreadonlymode.enabled=true`).fourLetterWords,
  ).toEqual(new Set(['ruok', 'srvr', 'isro']))
})

test('sizes in KiB and hours become bytes and milliseconds', () => {
  const text = `${minimal}preAllocSize=1\nsnapSizeLimitInKb=-1\ntxnLogSizeLimitInKb=2\nautopurge.purgeInterval=90m`
  expect(load(text)).toMatchObject({
    preAllocBytes: 1024,
    snapBytes: undefined,
    logBytesMax: 2048,
    purge: { intervalMs: 5_400_000, retainCount: 3 },
  })
  expect(load(minimal)).toMatchObject({
    preAllocBytes: 65_536 * 1024,
    snapBytes: 4_194_304 * 1024,
    logBytesMax: undefined,
    purge: { intervalMs: 3_600_000 },
  })
})
