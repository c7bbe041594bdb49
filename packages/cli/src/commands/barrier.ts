import { defineGroup } from '../framework/command.ts'
import { entry } from '../table/entry.ts'

export const command = defineGroup({
  raise: entry('Raise the barrier', () => import('./barrier/raise.ts')),
  lower: entry('Let everybody pass', () => import('./barrier/lower.ts')),
  wait: entry('Wait until the barrier is down', () => import('./barrier/wait.ts')),
})
