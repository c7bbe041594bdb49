// The command line of the programs of this folder, and their messages to the suite.
import { inspect } from 'node:util'

const [given] = process.argv.slice(2)

export const setting = {
  ...JSON.parse(given),
  /** As `console.log` of this runtime shows a value. */
  shown: (value) =>
    globalThis.Bun?.inspect(value, { depth: 9 }) ??
    globalThis.Deno?.inspect(value, { depth: 9 }) ??
    inspect(value, { depth: 9 }),
}

export function expect(condition, what) {
  if (!condition) throw new Error(`not as it should be: ${what}`)
}

/** Has the suite do something to the network, or end a session. */
export async function please(wish) {
  const answer = await fetch(`${setting.suite}/${wish}`)
  expect(answer.ok, `${wish}: ${answer.status}`)
}

/** The next change to this state. */
export function nextState(client, name) {
  return new Promise((resolve) => {
    const stop = client.onState((state) => {
      if (state.name !== name) return
      stop()
      resolve(state)
    })
  })
}
