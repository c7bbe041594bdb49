import type { Said } from './player.ts'

/** Parts that differ from run to run. */
const masks: readonly (readonly [RegExp, string])[] = [
  [/((?:c|m|p)Zxid = )0x[0-9a-f]+/g, '$1Z'],
  [/((?:c|m)time = )\w{3} \w{3} \d\d \d\d:\d\d:\d\d UTC 20\d\d/g, '$1T'],
  [/(ephemeralOwner = 0x)(?!0$|8000000000000000$)[0-9a-f]+/g, '$1S'],
  [/(zxid: )\d+/g, '$1Z'],
]

export function masked({ command, stdout, stderr }: Said, port: number): Said {
  const mask = (line: string): string =>
    masks
      .reduce((text, [pattern, sign]) => text.replaceAll(pattern, sign), line)
      .replaceAll(`:${port}`, ':PORT')
  return { command, stdout: stdout.map(mask), stderr: stderr.map(mask) }
}
