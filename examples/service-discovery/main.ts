import { onServer } from '../support/on-server.ts'
import { story } from './story.ts'

await onServer(story)
