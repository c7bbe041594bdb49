/** One thing after the other, in the order of asking; a failure does not hinder the next. */
export class Serial {
  private last: Promise<unknown> = Promise.resolve()

  run<T>(act: () => Promise<T>): Promise<T> {
    const result = this.last.then(act)
    this.last = result.catch(() => {})
    return result
  }
}
