/** Runs tasks one after the other, in the order of calls; a failure does not affect the next. */
export class Serial {
  private last: Promise<unknown> = Promise.resolve()

  run<T>(act: () => Promise<T>): Promise<T> {
    const result = this.last.then(act)
    this.last = result.catch(() => {})
    return result
  }
}
