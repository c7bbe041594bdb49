const pollMs = 10
const patienceMs = 25_000

/**
 * For what servers come to by themselves and tell nobody of: roles, ports, files. Ends with an error
 * that shows the condition, before a test would merely run out of time.
 */
export async function until(isSo: () => boolean): Promise<void> {
  const deadline = Date.now() + patienceMs
  while (!isSo()) {
    if (Date.now() > deadline)
      throw new Error(`in ${patienceMs} ms it did not come to ${String(isSo)}`)
    await new Promise((resolve) => setTimeout(resolve, pollMs))
  }
}
