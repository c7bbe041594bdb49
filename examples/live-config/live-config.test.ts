import { expect, test } from 'vitest'
import { useServer } from '../support/testing.ts'
import { Greeter, settingsPath } from './greeter.ts'
import { story } from './story.ts'

const { tree } = useServer()

test('services take up new settings while they run, and keep the last good ones', async () => {
  const { connectString } = await tree()
  const lines: string[] = []
  await story(connectString, (line) => lines.push(line))
  const said = ['Hello, Bartholomew', 'Good morning, Bartholomew']
  const notTakenUp = ['north', 'south'].map(
    () => `not taken up: nameLengthMax must be at least 1: ${settingsPath}`,
  )
  expect(lines).toEqual([
    ...both(said[0]!),
    ...both(said[1]!),
    ...notTakenUp,
    ...both(said[1]!),
    ...both('Hi, Bart'),
  ])
})

test('a service that was cut off uses the last settings, and then the new ones', async () => {
  const { open, openProxied } = await tree()
  const { proxy, client } = await openProxied()
  await using greeter = await Greeter.start(client, () => {})
  proxy.cut()
  const other = await open()
  await other.ensure(settingsPath)
  await other.set(settingsPath, '{ "greeting": "Ahoy", "nameLengthMax": 9 }')
  expect(await greeter.greet('Ann')).toBe('Hello, Ann')
  await proxy.heal()
  await greeter.settings.until(({ greeting }) => greeting === 'Ahoy')
  expect(await greeter.greet('Ann')).toBe('Ahoy, Ann')
})

const both = (line: string): string[] => [`north: ${line}`, `south: ${line}`]
