import { defineGroup } from '../framework/command.ts'
import { entry } from '../table/entry.ts'

export const command = defineGroup({
  init: entry(
    'Create an authority, and certificates for servers and clients',
    () => import('./tls/init.ts'),
  ),
  check: entry(
    'Explain the TLS settings of a zoo.cfg or a running server',
    () => import('./tls/check.ts'),
  ),
})
