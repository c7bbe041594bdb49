import { render } from 'preact'
import { App } from './app.tsx'
import { follow } from './live.ts'
import './styles.css'

render(<App />, document.body)
void follow()
