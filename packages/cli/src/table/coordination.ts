import type { CommandTable } from '../framework/command.ts'

/** Locks, elections, queues, watches, and who holds what. */
export const coordination: CommandTable = {}
