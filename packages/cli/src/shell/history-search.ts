import type { Interface, Key } from 'node:readline'

/** A readline with the parts that its types leave out. */
interface Editable extends Interface {
  line: string
  cursor: number
  readonly history: readonly string[]
  _ttyWrite(text: string | undefined, key: Key): void
}

interface Search {
  term: string
  /** Where the match is in the history, the newest line first; -1 before the first search. */
  index: number
  /** The line before the search, which Escape restores. */
  readonly line: string
}

/**
 * Ctrl-R searches the history backwards, as in other shells: typing narrows the search, Ctrl-R finds
 * an older line, Enter runs the line, Escape returns to what was typed, any other key edits the line.
 */
export function searchHistory(reader: Interface, isTyping: () => boolean): void {
  const editable = reader as Editable
  const write = editable._ttyWrite.bind(editable)
  let search: Search | undefined
  let prompt = ''

  const show = ({ term, index, line }: Search): void => {
    const found = editable.history[index]
    editable.line = found ?? (term === '' ? line : '')
    editable.cursor = found === undefined ? editable.line.length : found.indexOf(term)
    editable.setPrompt(
      `(search${term !== '' && found === undefined ? ' finds nothing' : ''}) ${term}: `,
    )
    editable.prompt(true)
  }

  const find = (now: Search, from: number): void => {
    const { history } = editable
    const older = history.findIndex((line, index) => index >= from && line.includes(now.term))
    if (now.term === '') now.index = -1
    else if (older >= 0 || from <= now.index) now.index = older
    show(now)
  }

  const end = (line: string): void => {
    search = undefined
    editable.setPrompt(prompt)
    editable.line = line
    editable.cursor = line.length
    editable.prompt(true)
  }

  editable._ttyWrite = (text, key) => {
    const isSearchKey = key.ctrl === true && key.name === 'r'
    if (search === undefined) {
      if (!isSearchKey || !isTyping()) return write(text, key)
      prompt = editable.getPrompt()
      search = { term: '', index: -1, line: editable.line }
      return show(search)
    }
    const isText = text !== undefined && text >= ' ' && text !== '\u007f' && key.ctrl !== true
    if (isSearchKey) return find(search, search.index + 1)
    if (key.name === 'backspace') {
      search.term = search.term.slice(0, -1)
      return find(search, 0)
    }
    if (isText && key.meta !== true) {
      search.term += text
      return find(search, Math.max(0, search.index))
    }
    const isCancel = key.name === 'escape' || (key.ctrl === true && /^[cg]$/.test(key.name ?? ''))
    if (isCancel) return end(search.line)
    end(editable.line)
    write(text, key)
  }
}
