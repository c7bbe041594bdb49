import { expect, test } from 'vitest'
import { useServer } from '../support/testing.ts'
import { story } from './story.ts'

const { tree } = useServer()

test('three processes make their calls no faster than the limit', async () => {
  const { connectString } = await tree()
  const lines: string[] = []
  const beganAt = performance.now()
  await story(connectString, (line) => lines.push(line))
  expect(lines.filter((line) => line.includes('makes its call'))).toHaveLength(24)
  // 19 of the 24 permits had to arrive first, one every 50 ms.
  expect(performance.now() - beganAt).toBeGreaterThan(940)
})
