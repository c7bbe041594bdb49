import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { siteProblems } from '../../site/html-check.ts'
import { anchorsOf, deadLinks, linksOf } from '../../site/markdown-links.ts'
import { namedFiles, pageFiles, routeOf } from '../../site/pages.ts'
import { documentsOf } from '../doc-blocks/doc-blocks.ts'
import { missingPaths, pathsIn } from './paths.ts'

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..')

test('no link in a document leads nowhere', () => {
  expect(deadLinks(root, documentsOf(root))).toEqual([])
})

test('every path in ARCHITECTURE.md exists', () => {
  const page = readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8')
  expect(pathsIn(page).length).toBeGreaterThan(100)
  expect(missingPaths(page, [root, join(root, 'packages', 'core', 'src')])).toEqual([])
})

test('each package begins with a comment that names its parts, and every part exists', () => {
  for (const name of readdirSync(join(root, 'packages'))) {
    const src = join(root, 'packages', name, 'src')
    const file = existsSync(join(src, 'index.ts')) ? 'index.ts' : 'main.tsx'
    const [comment = ''] = /^\/\*\*.*?\*\//s.exec(readFileSync(join(src, file), 'utf8')) ?? []
    expect(pathsIn(comment).length, name).toBeGreaterThan(2)
    expect(missingPaths(comment, [src, join(src, '..'), root]), name).toEqual([])
  }
})

test('paths in code are found, and other code is not', () => {
  const page = 'See `a/b.ts`, `c/`, `d.md` and `x.y`, `a/b c`, `/znode`.\n```\n`e/f.ts`\n```\n'
  expect(pathsIn(page)).toEqual(['a/b.ts', 'c/', 'd.md'])
  withFiles({ 'a/b.ts': '', 'd.md': '' }, (folder) => {
    expect(missingPaths(page, [folder])).toEqual(['c/'])
  })
})

test('every page of the site has a document', () => {
  const documents = new Set(documentsOf(root))
  expect([...pageFiles].filter((file) => !documents.has(file))).toEqual([])
})

test('no two pages of the site have one address', () => {
  const routes = [...pageFiles].map(routeOf)
  expect(routes.filter((route, at) => routes.indexOf(route) !== at)).toEqual([])
})

test('the navigation lists no page twice', () => {
  expect(namedFiles.filter((file, at) => namedFiles.indexOf(file) !== at)).toEqual([])
})

test('docs/README.md lists every document of its folder', () => {
  const index = readFileSync(join(root, 'docs', 'README.md'), 'utf8')
  const listed = new Set(linksOf(index).map(({ target }) => target))
  const files = readdirSync(join(root, 'docs')).filter((name) => name.endsWith('.md'))
  expect(files.filter((name) => name !== 'README.md' && !listed.has(name))).toEqual([])
})

test('anchors are those that GitHub makes', () => {
  const markdown = [
    '# `zabra` and *others*',
    '## What is there?',
    '## A [link](b.md), "quotes" & more',
    '## What is there?',
    '```\n# no heading\n```',
  ].join('\n')
  expect([...anchorsOf(markdown)]).toEqual([
    'zabra-and-others',
    'what-is-there',
    'a-link-quotes--more',
    'what-is-there-1',
  ])
})

test('links in code and in comments are none', () => {
  const markdown = '[a](a.md) `[b](b.md)` <!-- [c](c.md) -->\n```\n[d](d.md)\n```\n![e](e.png "E")'
  expect(linksOf(markdown)).toEqual([
    { target: 'a.md', line: 1 },
    { target: 'e.png', line: 5 },
  ])
})

/** Calls `check` with a folder that contains these files. */
function withFiles(files: Readonly<Record<string, string>>, check: (folder: string) => void): void {
  const folder = mkdtempSync(join(tmpdir(), 'zabra-links-'))
  try {
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, name)), { recursive: true })
      writeFileSync(join(folder, name), text)
    }
    check(folder)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

test('a missing file, a missing heading and a way out of the repository are found', () => {
  const text = '# A\n[1](b.md) [2](#a) [3](#b)\n[4](c.md#x) [5](../d.md) [6](https://e.example)'
  withFiles({ 'a.md': text, 'c.md': '# C' }, (folder) => {
    expect(deadLinks(folder, ['a.md'])).toEqual([
      'a.md:2: b.md: there is no b.md',
      'a.md:2: #b: a.md has no such heading',
      'a.md:3: c.md#x: c.md has no such heading',
      'a.md:3: ../d.md leads out of the repository',
    ])
  })
})

test('the built site is refused for a dead link, and for a load from another host', () => {
  const page = [
    '<h1 id="top">A</h1><a href="/z/b#here">b</a><a href="/z/b#there">b</a><a href="/z/c">c</a>',
    '<script src="https://cdn.example/x.js"></script><img src="/z/gone.png">',
    '<a href="https://elsewhere.example">a link may leave</a>',
  ].join('\n')
  const files = { 'a.html': page, 'b.html': '<p id="here">', 'x.css': 'a{src:url(//f.example/f)}' }
  withFiles(files, (folder) => {
    expect(siteProblems(folder, '/z/')).toEqual([
      'a.html: /z/b#there: the page has no such heading',
      'a.html: /z/c leads nowhere',
      'a.html loads https://cdn.example/x.js',
      'a.html loads /z/gone.png, which does not exist',
      'x.css loads //f.example/f',
    ])
  })
})
