import type { CommandTable } from '../framework/command.ts'

/** Looking after servers, ensembles and their files. */
export const operations: CommandTable = {}
