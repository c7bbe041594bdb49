import type { CommandEntry } from '../framework/command.ts'

/** A line of a table. */
export function entry(summary: string, load: CommandEntry['load']): CommandEntry {
  return { summary, load }
}

/** One that `zabra help` does not show. */
export function hiddenEntry(summary: string, load: CommandEntry['load']): CommandEntry {
  return { summary, load, isHidden: true }
}
