import { defineGroup } from '../framework/command.ts'
import { entry } from '../table/entry.ts'

export const command = defineGroup({
  init: entry(
    'Make an authority, and certificates for servers and clients',
    () => import('./tls/init.ts'),
  ),
  check: entry(
    'What a zoo.cfg does with TLS, or what a running server serves',
    () => import('./tls/check.ts'),
  ),
})
