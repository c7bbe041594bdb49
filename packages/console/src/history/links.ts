/** Addresses of the views of the past. */
import { hrefOf } from '../state.ts'

export const changesOf = (query: Readonly<Record<string, string>>): string =>
  hrefOf('history', query)

export const versionsOf = (path: string, zxid?: string): string =>
  hrefOf('history', { show: 'versions', path, ...(zxid === undefined ? {} : { new: zxid }) })

export const momentOf = (at: string, path = '/'): string =>
  hrefOf('history', { show: 'moment', at, path })

export const differenceOf = (from: string, to: string | undefined, path = '/'): string =>
  hrefOf('history', { show: 'difference', from, ...(to === undefined ? {} : { to }), path })
