#!/usr/bin/env node
// The zabra command of an installed package. A clone has bin/zabra, which builds first.
require('node:module').enableCompileCache?.() // since Node 22.8
const { main } = require('../dist/bundle/zabra.js')

void main(process.argv.slice(2)).then((code) => process.exit(code))
