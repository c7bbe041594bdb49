/** The clock of the server: the one of this machine may be set wrong, and then every age would be. */

/** A date in an answer has whole seconds, and the answer took a moment. */
const differenceMsMin = 2000
let aheadMs = 0

/** Notes the date of an answer. */
export function noteDate(date: string | null): void {
  const ahead = Date.parse(date ?? '') + 500 - Date.now()
  if (!Number.isNaN(ahead)) aheadMs = Math.abs(ahead) < differenceMsMin ? 0 : ahead
}

/** The time, as the server has it. */
export const serverNowMs = (): number => Date.now() + aheadMs
