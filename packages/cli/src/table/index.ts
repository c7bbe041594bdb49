import type { CommandTable } from '../framework/command.ts'
import { coordination } from './coordination.ts'
import { data } from './data.ts'
import { operations } from './operations.ts'
import { servers } from './servers.ts'
import { settings } from './settings.ts'

/** The commands as `zabra help` shows them. */
export const groups: readonly { readonly title: string; readonly commands: CommandTable }[] = [
  { title: 'Servers', commands: servers },
  { title: 'Data', commands: data },
  { title: 'Coordination', commands: coordination },
  { title: 'Operations', commands: operations },
  { title: 'The command itself', commands: settings },
]

/** Every command of `zabra`. */
export const commands: CommandTable = {
  ...servers,
  ...data,
  ...coordination,
  ...operations,
  ...settings,
}
