// Builds a site from the Markdown of this repository with VitePress. Pages stay where GitHub shows
// them, so their links are relative to the file, as on GitHub. Here they become links of the site,
// or links to GitHub if the site has no such page.
import { readFileSync } from 'node:fs'
import { dirname, join, relative, resolve as resolvePath } from 'node:path'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitepress'
import { siteProblems } from '../html-check.ts'
import { deadLinks, isExternal, isFolder, resolve, slugify } from '../markdown-links.ts'
import { otherFiles, pageFiles, routeOf, sections } from '../pages.ts'

const site = dirname(dirname(fileURLToPath(import.meta.url)))
const root = resolvePath(site, '..')
const repository = 'https://github.com/zabra/zabra'
const base = process.env.SITE_BASE ?? '/'

const files = [...pageFiles]
const missing = files.filter((file) => readTitle(file) === undefined)
if (missing.length > 0) throw new Error(`no first heading: ${missing.join(', ')}`)
const dead = deadLinks(root, files)
if (dead.length > 0) throw new Error(`dead links:\n${dead.join('\n')}`)

function readTitle(file) {
  if (file === 'site/index.md') return 'zabra'
  const [, title] = /^# +(.*)$/m.exec(readFileSync(join(root, file), 'utf8')) ?? []
  return title?.replaceAll('`', '')
}

const addressOf = (file) => `/${routeOf(file).replace(/(?:^|(?<=\/))index\.md$|\.md$/, '')}`

/** The link on the site for a link in a document. */
function siteLink(file, target) {
  if (isExternal(target) || target.startsWith('#') || target.startsWith('/')) return target
  const { path, anchor } = resolve(file, target)
  const document =
    isFolder(root, path) && pageFiles.has(`${path}/README.md`) ? `${path}/README.md` : path
  const hash = anchor === '' ? '' : `#${anchor}`
  if (pageFiles.has(document)) return addressOf(document) + hash
  return `${repository}/${isFolder(root, path) ? 'tree' : 'blob'}/main/${path}${hash}`
}

const item = ([file, title]) => ({ text: title ?? readTitle(file), link: addressOf(file) })

export default defineConfig({
  title: 'zabra',
  description: 'A drop-in ZooKeeper coordination service in TypeScript',
  lang: 'en-US',
  base,
  srcDir: '..',
  srcExclude: [...otherFiles, '**/.*/**', '**/dist/**', 'data/**'],
  outDir: './dist',
  cacheDir: './node_modules/.cache/vitepress',
  rewrites: (file) => (pageFiles.has(file) ? routeOf(file) : file),
  cleanUrls: true,
  head: [
    ['link', { rel: 'icon', type: 'image/svg+xml', href: `${base}icon.svg` }],
    ['meta', { name: 'theme-color', content: '#0f766e' }],
  ],
  markdown: {
    anchor: { slugify },
    theme: { light: 'github-light', dark: 'github-dark' },
    config(markdown) {
      const { rules } = markdown.renderer
      const codeInline = rules.code_inline
      rules.code_inline = (...args) => {
        const [tokens, index] = args
        const html = codeInline(...args)
        return isLongName(tokens[index].content) ? withBreaks(html) : html
      }
      markdown.core.ruler.push('links-of-the-repository', (state) => {
        const path = state.env.realPath ?? state.env.path
        if (path === undefined) return // a text without a file, such as the title of this one
        const file = relative(root, path)
        for (const block of state.tokens)
          for (const token of block.children ?? [])
            if (token.type === 'link_open')
              token.attrSet('href', siteLink(file, token.attrGet('href')))
      })
    },
  },
  vite: {
    publicDir: join(site, 'public'),
    plugins: [
      {
        // Pages are outside this folder, which has the only copy of Vue.
        name: 'vue-of-the-site',
        enforce: 'pre',
        resolveId(id, importer, { ssr }) {
          if (!/^vue(?:\/|$)/.test(id)) return null
          if (ssr) return { id, external: true }
          return importer?.startsWith(`${site}/`) ? null : this.resolve(id, join(site, 'index.md'))
        },
      },
    ],
    // The search index is one chunk, and each page is one, so chunk size warnings have no use.
    build: { chunkSizeWarningLimit: 2000 },
  },
  buildEnd({ outDir }) {
    const problems = siteProblems(outDir, base)
    if (problems.length > 0) throw new Error(`the site is not sound:\n${problems.join('\n')}`)
  },
  themeConfig: {
    logo: '/icon.svg',
    search: {
      provider: 'local',
      options: { detailedView: true, miniSearch: { searchOptions: { boostDocument } } },
    },
    outline: [2, 3],
    nav: sections
      .filter(({ top }) => top !== undefined)
      .map(({ top, pages }) => ({
        text: top,
        link: item(pages[0]).link,
        activeMatch: `^(?:${pages.map((page) => item(page).link).join('|')})$`,
      })),
    sidebar: sections.map(({ title, pages }) => ({
      text: title,
      collapsed: title === 'Recipes' || title === 'Internals',
      items: pages.map(item),
    })),
    socialLinks: [{ icon: 'github', link: repository }],
    editLink: {
      pattern: ({ filePath }) => `https://github.com/zabra/zabra/edit/main/${filePath}`,
      text: 'Edit this page on GitHub',
    },
    footer: {
      message:
        'Apache License 2.0. Apache ZooKeeper is a trademark of the Apache Software Foundation, with which this project is not affiliated.',
    },
    externalLinkIcon: true,
  },
})

/** Names of metrics, keys and files can be wider than a column of a table. */
function isLongName(code) {
  return /^\S{25,}$/.test(code)
}

/** Lets a browser break the line within a name; copied text stays the same. */
function withBreaks(html) {
  return html.replace(/(?<=>[^<]*)[._/](?=[^<]*<\/code>)/g, '$&<wbr>')
}

/** Explanations rank above reference lists. */
function boostDocument(id) {
  if (/\/(?:found-bugs|changelog|sweeps|command-reference|compatibility)(?:#|$|\.)/.test(id))
    return 0.3
  return 1
}
