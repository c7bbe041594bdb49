/** What became of one check. */
export type Outcome =
  | { readonly kind: 'ok'; readonly fact: string }
  | { readonly kind: 'failed'; readonly why: string }
  /** Something that it needs could not be had. */
  | { readonly kind: 'notRun'; readonly why: string }

export interface Check {
  readonly name: string
  run(): Promise<Outcome>
}

export const ok = (fact = ''): Outcome => ({ kind: 'ok', fact })
export const failed = (why: string): Outcome => ({ kind: 'failed', why: why.trim() })
export const notRun = (why: string): Outcome => ({ kind: 'notRun', why: why.trim() })
