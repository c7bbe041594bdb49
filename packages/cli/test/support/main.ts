// The command as a program, from its sources.
import { main } from '../../src/index.ts'

process.exit(await main(process.argv.slice(2)))
