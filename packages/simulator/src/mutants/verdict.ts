/**
 * Whether a mutant failed by itself: what it reaches for is not there any more, so nothing of the
 * server's was tried. Its own code is then the first that the error names.
 */
export function isVoid(violation: string): boolean {
  const thrower = /^\s+at .*$/m.exec(violation)?.[0]
  return thrower?.includes('/mutants/') === true
}
