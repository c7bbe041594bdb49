import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { posix } from 'node:path'

/**
 * The README for the page of a registry: links into the repository become links to the files of one
 * release. Throws if a link is dead.
 */
export function absoluteLinks(
  markdown: string,
  context: {
    readonly repository: string
    /** The folder of the README in the repository, with forward slashes. */
    readonly folder: string
    readonly repositoryUrl: string
    readonly tag: string
  },
): string {
  const { repository, folder, repositoryUrl, tag } = context
  return markdown.replace(/\]\(([^)\s]+)\)/g, (link, target: string) => {
    if (/^(?:[a-z]+:|#)/.test(target)) return link
    const [path = '', anchor] = target.split('#')
    const inRepository = posix.normalize(posix.join(folder, path))
    if (inRepository.startsWith('..') || !existsSync(join(repository, inRepository)))
      throw new Error(`${folder}/README.md links to ${target}, which does not exist`)
    const fragment = anchor === undefined ? '' : `#${anchor}`
    return `](${repositoryUrl}/blob/${tag}/${inRepository}${fragment})`
  })
}
