import { hostname } from 'node:os'
import type { Options } from '../framework/command.ts'

/** Options of commands that wait for a right and run a program with it. */
export const holdingOptions = {
  id: { type: 'text', help: 'name of the holder, for others to read (USER@HOST:PID)' },
  wait: { type: 'duration', help: 'give up if it is not granted in this time; 0 does not wait' },
  grace: {
    type: 'duration',
    help: 'time for the program to stop before the right may be lost (5s)',
  },
} as const satisfies Options

/** A name that people can find again. */
export function defaultId(env: Readonly<Record<string, string | undefined>>): string {
  return `${env['USER'] ?? env['LOGNAME'] ?? 'zabra'}@${hostname()}:${process.pid}`
}
