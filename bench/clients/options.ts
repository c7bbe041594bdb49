import { parseArgs } from 'node:util'
import { contestantNames, isClone, type ContestantName } from './contestants.ts'

export interface ClientBenchOptions {
  readonly rounds: number
  /** The duration of one load. */
  readonly seconds: number
  /** The number of requests in flight, for loads with several. */
  readonly window: number
  readonly server: 'zabra' | 'apache'
  readonly clients: readonly ContestantName[]
  readonly watches: number
  readonly notifications: number
}

export function parseOptions(args: readonly string[]): ClientBenchOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      rounds: { type: 'string', default: '5' },
      duration: { type: 'string', default: '1' },
      window: { type: 'string', default: '256' },
      server: { type: 'string', default: 'zabra' },
      clients: { type: 'string', default: contestantNames.join(',') },
      watches: { type: 'string', default: '10000' },
      notifications: { type: 'string', default: '100' },
    },
  })
  const number = (name: 'rounds' | 'duration' | 'window' | 'watches' | 'notifications'): number => {
    const value = Number(values[name])
    if (!(value > 0)) throw new Error(`--${name} takes a positive number, not '${values[name]}'`)
    return value
  }
  const { server } = values
  if (server !== 'zabra' && server !== 'apache') throw new Error(`no such server: ${server}`)
  return {
    rounds: number('rounds'),
    seconds: number('duration'),
    window: number('window'),
    server,
    clients: values.clients.split(',').map(contestantName),
    watches: number('watches'),
    notifications: number('notifications'),
  }
}

function contestantName(text: string): ContestantName {
  if (isClone(text)) return text
  const found = contestantNames.find((name) => name === text)
  if (found === undefined)
    throw new Error(`no client ${text}; there are ${contestantNames.join(', ')}`)
  return found
}
