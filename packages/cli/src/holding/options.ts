import { hostname } from 'node:os'
import type { Options } from '../framework/command.ts'

/** Options of commands that wait for a right and run a program with it. */
export const holdingOptions = {
  id: { type: 'text', help: 'who holds it, for others to read (USER@HOST:PID)' },
  wait: { type: 'duration', help: 'give up when it is not granted in this time; 0 does not wait' },
  grace: {
    type: 'duration',
    help: 'time for the program to end before the right may be gone (5s)',
  },
} as const satisfies Options

/** A name that people can find again. */
export function defaultId(env: Readonly<Record<string, string | undefined>>): string {
  return `${env['USER'] ?? env['LOGNAME'] ?? 'zabra'}@${hostname()}:${process.pid}`
}
