import { render } from 'preact'
import { App } from './app.tsx'
import { follow } from './live.ts'
import './styles.css' // oxlint-disable-line import/no-unassigned-import -- Vite takes the styles from it

render(<App />, document.body)
void follow()
