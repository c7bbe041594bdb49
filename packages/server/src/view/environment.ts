import { arch, homedir, hostname, platform, release, tmpdir, userInfo } from 'node:os'
import { dirname } from 'node:path'
import { getHeapStatistics } from 'node:v8'
import { versionText } from './version.ts'

/** The environment of the server, under the names that tools know from Java. */
export function environment(): Record<string, string> {
  const heap = getHeapStatistics()
  const megabytes = (bytes: number): string => `${Math.floor(bytes / (1024 * 1024))}MB`
  return {
    'zookeeper.version': versionText,
    'host.name': hostname(),
    'java.version': process.version,
    'java.vendor': 'Node.js',
    'java.home': dirname(process.execPath),
    'java.class.path': '',
    'java.library.path': '',
    'java.io.tmpdir': tmpdir(),
    'java.compiler': '<NA>',
    'os.name': systemNames[platform()] ?? platform(),
    'os.arch': arch() === 'x64' ? 'amd64' : arch(),
    'os.version': release(),
    'user.name': userName(),
    'user.home': homedir(),
    'user.dir': process.cwd(),
    'os.memory.free': megabytes(heap.total_heap_size - heap.used_heap_size),
    'os.memory.max': megabytes(heap.heap_size_limit),
    'os.memory.total': megabytes(heap.total_heap_size),
  }
}

const systemNames: Partial<Record<NodeJS.Platform, string>> = {
  linux: 'Linux',
  darwin: 'Mac OS X',
  win32: 'Windows',
}

/** In a container the user may have a number and no name. */
function userName(): string {
  try {
    return userInfo().username
  } catch {
    return String(process.getuid?.() ?? '?')
  }
}
