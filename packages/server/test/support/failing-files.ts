import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'

type Done = (error: Error | null, count?: number) => void
type Call = (...args: unknown[]) => unknown

let code: string | undefined
let isHalfTaken = false

/** Makes writes to files fail with this code; undefined lets them succeed again. */
export function failWrites(failWith: string | undefined): void {
  code = failWith
  isHalfTaken = false
}

/** The calls by which the storage changes files; opening and reading never fail here. */
const tampered = ['write', 'writeSync', 'fdatasync', 'fdatasyncSync', 'fsync'] as const
const lengthArgument = 3

for (const name of tampered) {
  const real = fs[name] as unknown as Call
  const replacement: Call = (...args) => {
    if (code === undefined) return real(...args)
    const length = args[lengthArgument]
    const isWrite = name === 'write' || name === 'writeSync'
    if (code === 'ENOSPC' && isWrite && !isHalfTaken && Number(length) > 1) {
      // A disk that fills up accepts what fits, and refuses the rest.
      isHalfTaken = true
      return real(...args.with(lengthArgument, Math.floor(Number(length) / 2)))
    }
    isHalfTaken = false
    const error = Object.assign(new Error(`${code}: injected, ${name}`), { code, syscall: name })
    if (name.endsWith('Sync')) throw error
    setImmediate(() => (args.at(-1) as Done)(error))
  }
  Object.assign(fs, { [name]: replacement })
}
syncBuiltinESMExports()
