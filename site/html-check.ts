/** Checks the built site: every link works, and nothing is loaded from another host. */
import { readdirSync, readFileSync } from 'node:fs'
import { join, posix, relative, sep } from 'node:path'

interface Page {
  readonly html: string
  readonly ids: ReadonlySet<string>
}

/** The problems of the site in `folder`, served below `base`. */
export function siteProblems(folder: string, base: string): string[] {
  const files = filesBelow(folder)
  const known = new Set(files)
  const pages = new Map<string, Page>()
  for (const file of files.filter((name) => name.endsWith('.html'))) {
    const html = readFileSync(join(folder, file), 'utf8')
    pages.set(file, {
      html,
      ids: new Set([...html.matchAll(/\sid="([^"]+)"/g)].map(([, id]) => id!)),
    })
  }

  const problems: string[] = []
  for (const [file, { html }] of pages) {
    for (const [, address] of html.matchAll(/<a\b[^>]*?\shref="([^"]+)"/g)) {
      const problem = linkProblem(file, address!, { base, known, pages })
      if (problem !== undefined) problems.push(`${file}: ${problem}`)
    }
    for (const [tag, address] of html.matchAll(
      /<(?:img|script|link|source|iframe|video|audio)\b[^>]*?\s(?:src|href|srcset)="([^"]+)"/g,
    )) {
      if (/rel="(?:canonical|alternate)"/.test(tag)) continue
      if (/^(?:https?:)?\/\//.test(address!)) problems.push(`${file} loads ${address}`)
      else if (!address!.startsWith('data:') && !isKnown(pathOf(file, address!, base), known))
        problems.push(`${file} loads ${address}, which does not exist`)
    }
  }
  for (const file of files.filter((name) => name.endsWith('.css'))) {
    const text = readFileSync(join(folder, file), 'utf8')
    for (const [, address] of text.matchAll(/(?:url\(|@import )["']?((?:https?:)?\/\/[^"')]+)/g))
      problems.push(`${file} loads ${address}`)
  }
  return [...new Set(problems)]
}

interface Site {
  readonly base: string
  readonly known: ReadonlySet<string>
  readonly pages: ReadonlyMap<string, Page>
}

function linkProblem(file: string, address: string, site: Site): string | undefined {
  if (/^[a-z]+:|^\/\//i.test(address)) return undefined
  const [target = '', anchor = ''] = address.replaceAll('&amp;', '&').split('#')
  const path = target === '' ? file : pathOf(file, target, site.base)
  const found = [path, `${path}.html`, posix.join(path, 'index.html')].find((name) =>
    site.known.has(name),
  )
  if (found === undefined) return `${address} leads nowhere`
  const page = site.pages.get(found)
  if (anchor === '' || page === undefined || page.ids.has(decodeURIComponent(anchor)))
    return undefined
  return `${address}: the page has no such heading`
}

/** The path in the site's folder for an address. */
function pathOf(file: string, address: string, base: string): string {
  const plain = decodeURI(address.replace(/[?#].*$/, ''))
  if (!plain.startsWith('/')) return posix.join(posix.dirname(file), plain)
  return plain.startsWith(base) ? plain.slice(base.length) : plain
}

function isKnown(path: string, known: ReadonlySet<string>): boolean {
  return known.has(path) || known.has(`${path}.html`) || known.has(posix.join(path, 'index.html'))
}

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)).split(sep).join('/'))
}
