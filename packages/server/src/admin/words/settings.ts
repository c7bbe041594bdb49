import type { ServerView } from '../../server-view.ts'
import { environment } from '../environment.ts'

/** `conf`: the settings that count. */
export async function conf(view: ServerView): Promise<string> {
  const { config, clientPort, directories } = view
  const sizes = await view.directorySizes()
  const settings = {
    clientPort: config.clientPort === undefined ? -1 : clientPort,
    secureClientPort: config.tls.port ?? -1,
    dataDir: directories.data,
    dataDirSize: sizes.data,
    dataLogDir: directories.log,
    dataLogSize: sizes.log,
    tickTime: config.tickTime,
    maxClientCnxns: config.maxClientCnxns,
    minSessionTimeout: config.minSessionTimeout,
    maxSessionTimeout: config.maxSessionTimeout,
    clientPortListenBacklog: config.listenBacklog,
    serverId: 0,
  }
  return lines(settings)
}

/** `dirs`: what is used on disk. */
export async function dirs(view: ServerView): Promise<string> {
  const { data, log } = await view.directorySizes()
  return `datadir_size: ${data}\nlogdir_size: ${log}\n`
}

/** `envi`: what the server runs on. */
export function* envi(): IterableIterator<string> {
  yield 'Environment:\n'
  yield lines(environment())
}

function lines(values: Readonly<Record<string, string | number>>): string {
  return Object.entries(values)
    .map(([key, value]) => `${key}=${value}\n`)
    .join('')
}
