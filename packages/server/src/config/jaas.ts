/** One login module of a section: its Java class and its options. */
export interface JaasEntry {
  readonly module: string
  readonly options: ReadonlyMap<string, string>
}

/** A syntax error in a JAAS file, with its line. */
export class JaasError extends Error {
  override readonly name = 'JaasError'
  readonly line: number

  constructor(line: number, message: string) {
    super(message)
    this.line = line
  }
}

interface Token {
  readonly kind: 'word' | 'quoted' | 'sign'
  readonly text: string
  readonly line: number
}

const flags = new Set(['required', 'requisite', 'sufficient', 'optional'])
const tokenPattern =
  /(\s+|\/\/[^\n]*|\/\*[\s\S]*?\*\/)|"((?:[^"\\\n]|\\[^\n])*)"|([A-Za-z0-9_$*.@/-]+)|([{};=])|([\s\S])/y

/**
 * Reads the sections of a JAAS login configuration that contain users and passwords:
 *
 *     Server { org.apache.zookeeper.server.auth.DigestLoginModule required user_bob="secret"; };
 */
export function parseJaas(text: string): ReadonlyMap<string, readonly JaasEntry[]> {
  const tokens = tokensOf(text)
  const sections = new Map<string, JaasEntry[]>()
  let at = 0
  const lastLine = text.split('\n').length
  const next = (what: string): Token => {
    const token = tokens[at++]
    if (token === undefined)
      throw new JaasError(lastLine, `the file ends where ${what} is expected`)
    return token
  }
  const expectSign = (sign: string): void => {
    const { kind, text: found, line } = next(`"${sign}"`)
    if (kind !== 'sign' || found !== sign)
      throw new JaasError(line, `expected "${sign}", got "${found}"`)
  }
  const word = (what: string): Token => {
    const token = next(what)
    if (token.kind === 'sign')
      throw new JaasError(token.line, `expected ${what}, got "${token.text}"`)
    return token
  }
  const isSign = (sign: string): boolean => tokens[at]?.kind === 'sign' && tokens[at]?.text === sign
  while (at < tokens.length) {
    const section = word('the name of a section')
    expectSign('{')
    const entries: JaasEntry[] = []
    while (!isSign('}')) {
      const module = word('a login module').text
      const flag = word('required, requisite, sufficient or optional')
      if (!flags.has(flag.text.toLowerCase())) {
        throw new JaasError(
          flag.line,
          `expected required, requisite, sufficient or optional, got ${flag.text}`,
        )
      }
      const options = new Map<string, string>()
      while (!isSign(';')) {
        const name = word('an option').text
        expectSign('=')
        options.set(name, word('a value').text)
      }
      expectSign(';')
      entries.push({ module, options })
    }
    expectSign('}')
    expectSign(';')
    if (sections.has(section.text)) {
      throw new JaasError(section.line, `there are two sections ${section.text}`)
    }
    sections.set(section.text, entries)
  }
  return sections
}

function tokensOf(text: string): Token[] {
  const tokens: Token[] = []
  let line = 1
  tokenPattern.lastIndex = 0
  for (let match = tokenPattern.exec(text); match !== null; match = tokenPattern.exec(text)) {
    const [whole, , quoted, word, sign, other] = match
    if (quoted !== undefined) {
      tokens.push({ kind: 'quoted', text: quoted.replaceAll(/\\(.)/g, '$1'), line })
    } else if (word !== undefined) tokens.push({ kind: 'word', text: word, line })
    else if (sign !== undefined) tokens.push({ kind: 'sign', text: sign, line })
    else if (other !== undefined) {
      throw new JaasError(
        line,
        other === '"' ? 'quotes are not closed' : `unexpected ${JSON.stringify(other)}`,
      )
    }
    line += whole.split('\n').length - 1
  }
  return tokens
}
