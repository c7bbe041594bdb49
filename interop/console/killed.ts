/** The leader is killed while its page is open: servers as processes of their own, and SIGKILL. */
import { freePorts } from '../../packages/server/test/support/free-ports.ts'
import { RawClient } from '../../packages/server/test/support/raw-client.ts'
import { zabraCommand } from '../src/commands.ts'
import { Ensemble } from '../src/ensemble.ts'
import { check, untilAllLoaded, type Stage } from './stage.ts'

const patienceMs = 60_000

export async function killed(stage: Stage): Promise<void> {
  const adminPorts = await freePorts(3)
  const ensemble = await Ensemble.start([zabraCommand(), zabraCommand(), zabraCommand()], {
    cfg: [
      'tickTime=500',
      'initLimit=20',
      'syncLimit=10',
      'admin.enableServer=true',
      '4lw.commands.whitelist=*',
    ].join('\n'),
    cfgOf: ({ id }) => `admin.serverPort=${adminPorts[id - 1]}`,
    namesClientPorts: true,
  })
  const context = await stage.browser.newContext()
  try {
    const leader = await ensemble.leader()
    const before = await RawClient.connect(leader.port)
    await before.create('/killed', 'before')
    await before.close()
    const page = await context.newPage()
    page.setDefaultTimeout(patienceMs)
    const errors: string[] = []
    page.on('pageerror', (error) => errors.push(error.message))
    await page.goto(`http://127.0.0.1:${adminPorts[leader.id - 1]}/#/tree?path=%2Fkilled`)
    await page.getByText('before', { exact: true }).waitFor()
    // The page has told the others where it comes from once it knows its server by its number.
    await page.getByText(`server ${leader.id}, leader`).waitFor()
    await untilAllLoaded(page)

    await leader.stop('SIGKILL')
    await page
      .getByText(`The connection to server ${leader.id}`)
      .filter({ hasText: 'continues' })
      .waitFor()
    check('a page of a killed leader goes on at another server', true)
    const next = await ensemble.leader()
    check('another server leads', next.id !== leader.id)
    const after = await RawClient.connect(next.port)
    await after.must('setData', { path: '/killed', data: Buffer.from('after'), version: -1 })
    await after.close()
    await page.getByText('after', { exact: true }).waitFor()
    check('it shows what the new leader commits', true)

    await page.evaluate(`location.hash = '#/ensemble'`)
    await page.getByText('does not answer').first().waitFor()
    check('the ensemble shows which server does not answer', true)
    await leader.start()
    await page.getByText('does not answer').first().waitFor({ state: 'detached' })
    check('and when it is back', errors.length === 0, errors)
  } finally {
    await context.close()
    await ensemble.dispose()
  }
}
