import { render } from 'preact'
import { App } from './app.tsx'
import { follow } from './live.ts'
// oxlint-disable-next-line import/no-unassigned-import -- Vite makes a file of its own of it
import './styles.css'

render(<App />, document.body)
void follow()
