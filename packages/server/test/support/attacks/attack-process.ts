/** Runs one attack as a separate process. Arguments: NAME PORT SCALE. */
import { attacks } from './attacks.ts'

const [name, port, scale] = process.argv.slice(2)
const attack = attacks.find((each) => each.name === name)
if (attack === undefined) throw new Error(`there is no attack ${name}`)
process.on('disconnect', () => process.exit(3)) // The parent has exited.
await attack.run(Number(port), Number(scale))
process.exit(0)
