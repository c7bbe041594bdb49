/**
 * Whether a mutant failed by itself, because a method that it replaces no longer exists: then
 * nothing of the server was tested. The error names the mutant's own code first.
 */
export function isVoid(violation: string): boolean {
  const thrower = /^\s+at .*$/m.exec(violation)?.[0]
  return thrower?.includes('/mutants/') === true
}
