import type { Route } from '../route.ts'
import { backup } from './backup.ts'
import { changes } from './changes.ts'
import { ensemble } from './ensemble.ts'
import { events } from './events.ts'
import { locks } from './locks.ts'
import { nodes } from './nodes.ts'
import { removal } from './removal.ts'
import { search } from './search.ts'
import { sessions } from './sessions.ts'
import { whoami } from './whoami.ts'

/** The table of the API: what is answered, to whom, and in which shape. */
export const routes: readonly Route[] = [
  ...whoami,
  ...nodes,
  ...changes,
  ...removal,
  ...search,
  ...ensemble,
  ...sessions,
  ...locks,
  ...events,
  ...backup,
]
