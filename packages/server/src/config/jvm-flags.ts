/** System properties and other options found in the environment variables that zkServer.sh reads. */
export interface JvmFlags {
  readonly properties: readonly { name: string; value: string; variable: string }[]
  /** Options for a Java machine, such as `-Xmx1g`. */
  readonly others: readonly { flag: string; variable: string }[]
}

/** JVMFLAGS comes after SERVER_JVMFLAGS on the command line of zkServer.sh, so it wins. */
const variables = ['SERVER_JVMFLAGS', 'JVMFLAGS'] as const

export function parseJvmFlags(env: Readonly<Record<string, string | undefined>>): JvmFlags {
  const properties: JvmFlags['properties'][number][] = []
  const others: JvmFlags['others'][number][] = []
  for (const variable of variables) {
    for (const flag of shellWords(env[variable] ?? '')) {
      const [, name, value = ''] = /^-D([^=]+)(?:=([^]*))?$/.exec(flag) ?? []
      if (name === undefined) others.push({ flag, variable })
      else properties.push({ name, value, variable })
    }
  }
  return { properties, others }
}

/** Splits at spaces outside quotes, as a shell does. */
function shellWords(text: string): string[] {
  const words = text.match(/(?:'[^']*'|"(?:\\[^]|[^"\\])*"|\\[^]|[^\s'"\\])+/g) ?? []
  return words.map((word) =>
    word.replace(
      /'([^']*)'|"((?:\\[^]|[^"\\])*)"|\\([^])/g,
      (_, single?: string, double?: string, escaped?: string) =>
        single ?? double?.replace(/\\(["\\$`])/g, '$1') ?? escaped ?? '',
    ),
  )
}
