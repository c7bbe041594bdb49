import { expect, test } from 'vitest'
import { corpusOf, foundOf } from './corpus.ts'
import { Explorer, type Finding } from './explorer.ts'
import { instrumentSource } from './instrument.ts'
import { targets } from './targets/index.ts'
import { Random } from '../../../packages/server/test/support/random.ts'

test.each(targets)(
  '$name takes every input that once showed a fault, or reaches much',
  async (target) => {
    for (const { name, input } of foundOf(target.name)) {
      await Promise.resolve(target.run(input)).catch((error: unknown) => {
        throw new Error(`found/${target.name}/${name}`, { cause: error })
      })
    }
    for (const input of [...(await target.seeds()), ...corpusOf(target.name)])
      await target.run(input)
  },
)

test('the search reaches a fault behind comparisons that chance would not pass', async () => {
  const source = `
    export function run(bytes) {
      if (bytes.length < 8) return
      const view = new DataView(bytes.buffer, bytes.byteOffset)
      if (view.getInt32(0) !== 0x7a616272) return
      if (bytes[4] === 9) { if (view.getUint16(5) > 60000) throw new Error('reached') }
    }`
  const { code, branches, dictionary } = instrumentSource(source)
  const module = (await import(`data:text/javascript,${encodeURIComponent(code)}`)) as {
    run: (bytes: Uint8Array) => void
  }
  const { branchCounts } = globalThis as unknown as { branchCounts: Uint8Array }
  const findings: Finding[] = []
  const explorer = new Explorer({
    target: { name: 'planted', seeds: () => [], run: (input) => module.run(input) },
    random: new Random(1),
    branchCounts,
    dictionary,
    onRun() {},
    onFinding: (finding) => findings.push(finding),
  })
  await explorer.explore([new Uint8Array(8)], 200_000)
  expect(findings).toHaveLength(1)
  expect(findings[0]!.problem).toMatch(/^Error: reached/)
  // All except the one that threw: such a run is a finding, and is not mutated further.
  expect(explorer.branchesTaken).toBe(branches - 1)
})
