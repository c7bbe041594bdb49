/** One instruction of a Dockerfile. */
export interface Instruction {
  readonly name: string
  /** Everything after the name, with continued lines joined. */
  readonly text: string
  readonly line: number
}

export interface Stage {
  readonly base: string
  readonly name: string | undefined
  readonly instructions: readonly Instruction[]
}

/** Reads the stages of a Dockerfile, with the defaults of its build arguments filled in. */
export function parseDockerfile(source: string): Stage[] {
  const args = new Map<string, string>()
  const stages: (Stage & { instructions: Instruction[] })[] = []
  for (const instruction of instructionsOf(source)) {
    const text = instruction.text.replace(/\$\{(\w+)\}/g, (whole, name: string) => {
      return args.get(name) ?? whole
    })
    const { name } = instruction
    if (name === 'ARG') args.set(text.split('=')[0]!, text.split('=')[1] ?? '')
    else if (name === 'FROM') {
      const [, base, stage] = /^(\S+)(?:\s+AS\s+(\S+))?$/i.exec(text)!
      stages.push({ base: base!, name: stage, instructions: [] })
    } else stages.at(-1)!.instructions.push({ ...instruction, text })
  }
  return stages
}

function instructionsOf(source: string): Instruction[] {
  const found: Instruction[] = []
  let pending = ''
  let begunAt = 0
  for (const [i, line] of source.split('\n').entries()) {
    if (/^\s*(?:#|$)/.test(line)) continue
    if (pending === '') begunAt = i + 1
    pending += line
    if (pending.endsWith('\\')) {
      pending = pending.slice(0, -1)
      continue
    }
    const [, name, text] = /^\s*(\w+)\s+(.*)$/.exec(pending)!
    found.push({ name: name!.toUpperCase(), text: text!.trim(), line: begunAt })
    pending = ''
  }
  return found
}

/** Whether a .dockerignore excludes this path, which is relative and has forward slashes. */
export function isIgnored(ignoreFile: string, path: string): boolean {
  const parents = path.split('/').map((_, i, parts) => parts.slice(0, i + 1).join('/'))
  let ignored = false
  for (const line of ignoreFile.split('\n')) {
    const rule = line.trim()
    if (rule === '' || rule.startsWith('#')) continue
    const isException = rule.startsWith('!')
    const pattern = new RegExp(
      `^${rule
        .replace(/^!/, '')
        .split(/(\*\*\/|\*)/)
        .map((part) => {
          if (part === '**/') return '(?:.*/)?'
          return part === '*' ? '[^/]*' : part.replace(/[.+^$()|[\]\\]/g, '\\$&')
        })
        .join('')}$`,
    )
    if (parents.some((parent) => pattern.test(parent))) ignored = !isException
  }
  return ignored
}
