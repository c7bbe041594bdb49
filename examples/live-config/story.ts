import { EventEmitter, once } from 'node:events'
import { connect } from '@zabra/client'
import type { Say } from '../support/on-server.ts'
import { Greeter, settingsPath } from './greeter.ts'
import type { Settings } from './settings.ts'

/** Two web services apply new settings while they run, and refuse invalid ones. */
export async function story(servers: string, say: Say): Promise<void> {
  await using first = await connect(servers)
  await using second = await connect(servers)
  await first.ensure('/')
  const problems = new EventEmitter()
  await using north = await Greeter.start(first, (problem) => problems.emit('north', problem))
  await using south = await Greeter.start(second, (problem) => problems.emit('south', problem))
  const ask = async (): Promise<void> => {
    say(`north: ${await north.greet('Bartholomew')}`)
    say(`south: ${await south.greet('Bartholomew')}`)
  }
  const untilBoth = async (isSo: (settings: Settings) => boolean): Promise<void> => {
    await Promise.all([north.settings.until(isSo), south.settings.until(isSo)])
  }
  await ask()

  await north.settings.update((settings) => ({ ...settings, greeting: 'Good morning' }))
  await untilBoth(({ greeting }) => greeting === 'Good morning')
  await ask()

  const noticed = Promise.all([once(problems, 'north'), once(problems, 'south')])
  // Bypasses the schema: settings are data like any other.
  await first.set(settingsPath, '{ "greeting": "Hi", "nameLengthMax": 0 }')
  for (const [problem] of await noticed) say(`not taken up: ${(problem as Error).message}`)
  await ask()

  await south.settings.set({ greeting: 'Hi', nameLengthMax: 4 })
  await untilBoth(({ greeting }) => greeting === 'Hi')
  await ask()
}
