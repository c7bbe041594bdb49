import type { Route } from '../route.ts'
import { backup } from './backup.ts'
import { changes } from './changes.ts'
import { ensemble } from './ensemble.ts'
import { events } from './events.ts'
import { history } from './history.ts'
import { historyDensity } from './history-density.ts'
import { historyStream } from './history-stream.ts'
import { load } from './load.ts'
import { locks } from './locks.ts'
import { log } from './log.ts'
import { nodes } from './nodes.ts'
import { past } from './past.ts'
import { quota } from './quota.ts'
import { removal } from './removal.ts'
import { search } from './search.ts'
import { sessionEnds } from './session-ends.ts'
import { sessions } from './sessions.ts'
import { undelete } from './undelete.ts'
import { whoami } from './whoami.ts'

/** The table of the API: its routes, their roles and their schemas. */
export const routes: readonly Route[] = [
  ...whoami,
  ...nodes,
  ...quota,
  ...changes,
  ...removal,
  ...search,
  ...ensemble,
  ...sessions,
  ...sessionEnds,
  ...locks,
  ...load,
  ...events,
  ...log,
  ...backup,
  ...history,
  ...past,
  ...historyDensity,
  ...historyStream,
  ...undelete,
]
