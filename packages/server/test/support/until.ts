const pollMs = 10
const patienceMs = 25_000

/**
 * Waits for a condition that no event announces: roles, ports, files. Throws an error that shows
 * the condition before the test would time out.
 */
export async function until(isSo: () => boolean): Promise<void> {
  const deadline = Date.now() + patienceMs
  while (!isSo()) {
    if (Date.now() > deadline)
      throw new Error(`in ${patienceMs} ms it did not come to ${String(isSo)}`)
    await new Promise((resolve) => setTimeout(resolve, pollMs))
  }
}
