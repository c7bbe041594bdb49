import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'

type Done = (error: Error | null, count?: number) => void
type Call = (...args: unknown[]) => unknown

let code: string | undefined

/** From now on writes to files fail with this code, or succeed again where there is none. */
export function failWrites(failWith: string | undefined): void {
  code = failWith
}

/** Calls the storage makes to change a file; opening and reading never fail here. */
const tampered = ['write', 'fdatasync', 'fsync'] as const

for (const name of tampered) {
  const real = fs[name] as unknown as Call
  const replacement: Call = (...args) => {
    const done = args.at(-1) as Done
    if (code === undefined) return real(...args)
    const error = Object.assign(new Error(`${code}: injected, ${name}`), { code, syscall: name })
    setImmediate(() => done(error))
  }
  Object.assign(fs, { [name]: replacement })
}
syncBuiltinESMExports()
