/** Runs one attack as a separate process. Arguments: NAME TARGET SCALE, with the target as JSON. */
import type { Target } from './attack.ts'
import { attacks } from './attacks.ts'

const [name, target = '{}', scale] = process.argv.slice(2)
const attack = attacks.find((each) => each.name === name)
if (attack === undefined) throw new Error(`there is no attack ${name}`)
process.on('disconnect', () => process.exit(3)) // The parent has exited.
await attack.run(JSON.parse(target) as Target, Number(scale))
process.exit(0)
