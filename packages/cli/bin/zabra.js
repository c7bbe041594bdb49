#!/usr/bin/env node
// The zabra command of an installed package. A clone has bin/zabra, which builds first.
import { main } from '../dist/bundle/zabra.js'

process.exit(await main(process.argv.slice(2)))
