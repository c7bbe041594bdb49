import { spawn } from 'node:child_process'

/** Programs that open an address in the browser of the user, by platform. */
const openers: Readonly<Record<string, readonly string[]>> = {
  darwin: ['open'],
  win32: ['cmd', '/c', 'start', ''],
}

/** Opens an address with $BROWSER or the program of the platform. Resolves with a problem, if there is one. */
export function openBrowser(
  url: string,
  env: Readonly<Record<string, string | undefined>>,
): Promise<string | undefined> {
  const own = env['BROWSER'] ?? ''
  const [program = '', ...words] = own === '' ? (openers[process.platform] ?? ['xdg-open']) : [own]
  return new Promise((resolve) => {
    const child = spawn(program, [...words, url], { stdio: 'ignore', detached: true, env })
    child.once('error', (error: NodeJS.ErrnoException) =>
      resolve(error.code === 'ENOENT' ? `there is no program ${program}` : error.message),
    )
    child.once('spawn', () => {
      child.unref()
      resolve(undefined)
    })
  })
}
