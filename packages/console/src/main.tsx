/**
 * The web console: a Preact application that talks to the HTTP API of one server (`/api/v1`), and moves
 * to another member when that server is down. `build.mjs` packs it into one module, which
 * `@zabra/server` loads when a browser asks for the console.
 *
 * - `app.tsx`: the frame and the views; `state.ts`: the state that they share, kept in the address;
 * - `api.ts`, `live.ts`, `servers.ts`: requests, the stream of changes, and which member to ask;
 * - `tree-model.ts`, `tree-view.tsx`, `tree-rows.tsx`: the tree, of which only visible rows are rendered;
 * - `node-view.tsx`, `data-view.tsx`, `acl-view.tsx`: one znode; `merge.ts`, `diff.ts`: edit conflicts;
 * - `ensemble/` with `charts/`, `sessions/`, `coordination/` (locks, elections, queues, groups), `load/`, `history/`:
 *   the other views, whose files are loaded after those of the tree (`lazy.tsx`).
 */
import { render } from 'preact'
import { App } from './app.tsx'
import { loadAll } from './lazy.tsx'
import { follow } from './live.ts'
// oxlint-disable-next-line import/no-unassigned-import -- Vite makes a file of its own of it
import './styles.css'

render(<App />, document.body)
void follow()
// Not before what is seen first is there.
setTimeout(loadAll, 4000)
