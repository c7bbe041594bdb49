/**
 * Links of Markdown as GitHub resolves them: relative to the file, with anchors made of headings.
 */
import { existsSync, readFileSync, statSync } from 'node:fs'
import { join, posix } from 'node:path'

export interface MarkdownLink {
  readonly target: string
  /** Counted from 1. */
  readonly line: number
}

/** The anchor that GitHub gives a heading; `seen` counts earlier headings with the same anchor. */
function anchorOf(heading: string, seen = new Map<string, number>()): string {
  const plain = slugify(textOf(heading))
  const times = seen.get(plain) ?? 0
  seen.set(plain, times + 1)
  return times === 0 ? plain : `${plain}-${times}`
}

export function slugify(text: string): string {
  return text
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{M}\p{N}\p{Pc}\- ]/gu, '')
    .replaceAll(' ', '-')
}

/** The visible text of a heading: links become their text, and markup is removed. */
function textOf(heading: string): string {
  return heading.replaceAll(/!?\[([^\]]*)\]\([^)]*\)/g, '$1').replaceAll(/[*`]|<[^>]*>/g, '')
}

/** The prose, with the same number of lines: code and comments are blank. */
function proseOf(markdown: string): string {
  const blank = (text: string): string => text.replaceAll(/[^\n]/g, '')
  return markdown
    .replaceAll(/^( *)(```|~~~)[^]*?^ *\2 *$/gm, blank)
    .replaceAll(/<!--[^]*?-->/g, blank)
}

export function anchorsOf(markdown: string): Set<string> {
  const seen = new Map<string, number>()
  const prose = proseOf(markdown)
  const headings = [...prose.matchAll(/^#{1,6} +(.*?) *#*$/gm)]
  const ids = [...prose.matchAll(/<a (?:id|name)="([^"]+)"/g)]
  return new Set([
    ...headings.map((match) => anchorOf(match[1]!, seen)),
    ...ids.map((match) => match[1]!),
  ])
}

export function linksOf(markdown: string): MarkdownLink[] {
  const prose = proseOf(markdown).replaceAll(/(`+)[^`]*?\1(?!\()/g, (code) =>
    code.replaceAll(/[[\]()<]/g, ' '),
  )
  const links = [
    ...prose.matchAll(/\]\(<?([^)\s>]+)>?(?: +"[^"]*")?\)/g),
    ...prose.matchAll(/^\[[^\]]+\]: +(\S+)/gm),
    ...prose.matchAll(/<(?:a|img|source)\b[^>]*?(?:href|src|srcset)="([^"]+)"/g),
  ]
  return links.map((match) => ({
    target: match[1]!,
    line: prose.slice(0, match.index).split('\n').length,
  }))
}

export const isExternal = (target: string): boolean => /^[a-z][a-z0-9+.-]*:|^\/\//i.test(target)

/** A relative link as a path in the repository, and its part after `#`. */
export function resolve(file: string, target: string): { path: string; anchor: string } {
  const [path = '', anchor = ''] = target.split('#')
  const resolved = path === '' ? file : posix.join(posix.dirname(file), decodeURI(path))
  return { path: resolved.replace(/\/$/, ''), anchor: decodeURIComponent(anchor) }
}

/** Dead links, each as a line that says where it is. */
export function deadLinks(root: string, files: readonly string[]): string[] {
  const anchors = new Map<string, Set<string>>()
  const anchorsIn = (path: string): Set<string> => {
    const known = anchors.get(path) ?? anchorsOf(readFileSync(join(root, path), 'utf8'))
    anchors.set(path, known)
    return known
  }
  return files.flatMap((file) =>
    linksOf(readFileSync(join(root, file), 'utf8')).flatMap(({ target, line }) => {
      if (isExternal(target)) return []
      const place = `${file}:${line}: ${target}`
      const { path, anchor } = resolve(file, target)
      if (path.startsWith('..')) return [`${place} leads out of the repository`]
      if (!existsSync(join(root, path))) return [`${place}: there is no ${path}`]
      if (anchor === '') return []
      const document = statSync(join(root, path)).isDirectory() ? `${path}/README.md` : path
      // Line numbers of a source file, which GitHub shows, are not checked.
      if (!document.endsWith('.md')) return []
      if (!existsSync(join(root, document))) return [`${place}: there is no ${document}`]
      return anchorsIn(document).has(anchor) ? [] : [`${place}: ${document} has no such heading`]
    }),
  )
}

/** Whether a path of the repository is a folder. */
export function isFolder(root: string, path: string): boolean {
  return statSync(join(root, path), { throwIfNoEntry: false })?.isDirectory() ?? false
}
