/** Settings with secret values. All others are shown to everybody who can reach the port. */
const secretName = /(?:password|superdigest)$/i

export function isSecret(name: string): boolean {
  return secretName.test(name)
}

/** The text of a configuration file without passwords. */
export function hideSecrets(text: string): string {
  return text.replace(
    /^([^\S\n]*([^\s=:#!]+)[^\S\n]*[=:\s][^\S\n]*)(.*)$/gm,
    (line: string, start: string, name: string) => (isSecret(name) ? `${start}***` : line),
  )
}
