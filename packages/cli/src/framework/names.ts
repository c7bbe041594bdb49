/** `dryRun` as it is typed: `dry-run`. */
export function kebab(key: string): string {
  return key.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
}

/** `zooCfg` as the usage shows it: `ZOO-CFG`. */
export function metavar(key: string): string {
  return kebab(key).toUpperCase()
}
