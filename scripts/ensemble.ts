// Three servers on loopback for people who want to try an ensemble: `npm run ensemble`.
// Their data stays in ./data/ensemble; Ctrl-C stops them, and the next run goes on with it.
import { spawn, type ChildProcess } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const ids = [1, 2, 3]
const firstClientPort = 2181
const colours = ['\u001b[36m', '\u001b[33m', '\u001b[35m']
const plain = '\u001b[0m'

const clientPort = (id: number): number => firstClientPort + id - 1
const members = ids.map((id) => `server.${id}=127.0.0.1:${2887 + id}:${3887 + id}`).join('\n')

function writeConfig(id: number): string {
  const folder = join(root, 'data', 'ensemble', String(id))
  const file = join(folder, 'zoo.cfg')
  mkdirSync(join(folder, 'data'), { recursive: true })
  writeFileSync(join(folder, 'data', 'myid'), `${id}\n`)
  const settings = [
    'tickTime=2000',
    'initLimit=10',
    'syncLimit=5',
    `dataDir=${join(folder, 'data')}`,
    `clientPort=${clientPort(id)}`,
    `admin.serverPort=${8079 + id}`,
    members,
  ]
  writeFileSync(file, `${settings.join('\n')}\n`)
  return file
}

function start(id: number): ChildProcess {
  const child = spawn(process.execPath, [join(root, 'bin', 'zabra'), 'server', writeConfig(id)], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const colour = process.stdout.isTTY ? (colours[(id - 1) % colours.length] ?? '') : ''
  const end = process.stdout.isTTY ? plain : ''
  for (const stream of [child.stdout, child.stderr]) {
    const lines = createInterface({ input: stream })
    lines.on('line', (line) => process.stdout.write(`${colour}server ${id}${end}  ${line}\n`))
  }
  return child
}

const children = ids.map(start)
const hosts = ids.map((id) => `127.0.0.1:${clientPort(id)}`).join(',')
process.stdout.write(`three servers; connect with: zkCli.sh -server ${hosts}\n`)
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    for (const child of children) child.kill('SIGTERM')
  })
}
const codes = await Promise.all(
  children.map(
    (child) =>
      new Promise<number>((resolve) => {
        child.on('exit', (code) => resolve(code ?? 1))
      }),
  ),
)
process.exitCode = Math.max(...codes)
