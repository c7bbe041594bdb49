/**
 * The console in a real browser, against a live ensemble of three: every view in both themes, every
 * change, checked by a client of the ensemble; a server that goes away while the page is open.
 *
 *     npm run test:console -- [--pictures docs/console] [--only NAME]
 *
 * It uses the Chromium that CHROMIUM names, or Debian's, which it installs if it is missing.
 */
import { parseArgs } from 'node:util'
import { files } from '@zabra/console'
import { certificate } from './certificate.ts'
import { coordination } from './coordination.ts'
import { ended } from './ended.ts'
import { ensemble } from './ensemble.ts'
import { history } from './history.ts'
import { killed } from './killed.ts'
import { load } from './load.ts'
import { loss } from './loss.ts'
import { mainViews } from './main-views.ts'
import { tree } from './tree.ts'
import { check, counts, Stage } from './stage.ts'

const { values: options } = parseArgs({
  options: { pictures: { type: 'string' }, only: { type: 'string' } },
})
/** Each has an ensemble of its own. */
const suites: Readonly<Record<string, (stage: Stage) => Promise<void>>> = {
  mainViews,
  tree,
  coordination,
  ensemble,
  history,
  ended,
  load,
  loss,
  killed,
  certificate,
}

const bytes = Object.values(files).reduce((sum, { gzip }) => sum + (gzip.length * 3) / 4, 0)
check(`all files are ${Math.round(bytes)} bytes, at most 250 KiB`, bytes <= 250 * 1024)

for (const [name, suite] of Object.entries(suites)) {
  if (options.only !== undefined && options.only !== name) continue
  console.log(`--- ${name}`)
  await using stage = await Stage.start(options.pictures)
  await suite(stage)
  check('nothing is loaded from elsewhere', stage.foreign.length === 0, stage.foreign)
  check('no error in the page', stage.errors.length === 0, stage.errors)
}
console.log(`${counts.passed} passed, ${counts.failed} failed`)
process.exitCode = counts.failed === 0 ? 0 : 1
