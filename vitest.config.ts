// oxlint-disable-next-line import/no-unassigned-import -- it links what a merge has added
import './scripts/link-packages.mjs'
import { defineConfig } from 'vitest/config'

export default defineConfig({
  resolve: { conditions: ['@zabra/source'] },
  ssr: { resolve: { conditions: ['@zabra/source'] } },
  test: {
    include: [
      'packages/*/src/**/*.test.ts',
      'packages/*/test/**/*.test.ts',
      'interop/**/*.test.ts',
      'bench/**/*.test.ts',
      'examples/**/*.test.ts',
      'scripts/**/*.test.ts',
    ],
    isolate: false,
    testTimeout: 30_000,
  },
})
