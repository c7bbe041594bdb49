import { formatMembership, parseMembership, type Disk, type Membership } from '@zabra/core'
import { decodeText, encodeText } from '@zabra/protocol'

export const configPath = '/conf/zoo.cfg'

/** The file that an operator writes before the first start. */
export async function writeConfig(disk: Disk, members: Membership): Promise<void> {
  await disk.makeDirectory('/conf')
  const file = await disk.create(configPath)
  const lines = formatMembership(members).replace(/\nversion=.*/, '')
  await file.write(encodeText(`tickTime=2000\n${lines}\n`), 0)
  await file.sync()
  await file.close()
  await disk.syncDirectory('/conf')
}

/** The members that a server starts with, from its configuration files. */
export async function readMembers(disk: Disk): Promise<Membership> {
  const text = await readText(disk, configPath)
  const [, path, version] = /^dynamicConfigFile=(.*\.([0-9a-f]+))$/m.exec(text) ?? []
  const lines =
    path === undefined ? text.replace('tickTime=2000\n', '') : await readText(disk, path)
  const parsed = parseMembership(`${lines}\nversion=${version ?? 0}`)
  if ('problem' in parsed) throw new Error(`${path ?? configPath}: ${parsed.problem}`)
  return parsed.value
}

async function readText(disk: Disk, path: string): Promise<string> {
  const file = await disk.openRead(path)
  const bytes = new Uint8Array(file.bytes)
  const count = await file.read(0, bytes)
  await file.close()
  return decodeText(bytes, 0, count)
}
