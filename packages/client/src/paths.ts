import { nameOf, parentOf, pathProblem } from '@zabra/protocol'
import { shown } from './calls/arguments.ts'
import { OperationError } from './errors.ts'

/** Converts between the caller's paths, below a chroot, and those of the server. */
export class Paths {
  readonly chroot: string

  constructor(chroot: string) {
    const problem = chroot === '' ? undefined : pathProblem(chroot)
    if (problem !== undefined) throw badPath(chroot, `${problem} (the chroot)`)
    this.chroot = chroot
  }

  /** Throws if the path is invalid. */
  toServer(path: string): string {
    checkPath(path)
    if (this.chroot === '') return path
    return path === '/' ? this.chroot : this.chroot + path
  }

  /** The path of a sequential node may end in a slash: the number follows. */
  toServerSequential(path: string): string {
    const problem = typeof path === 'string' ? pathProblem(`${path}0`) : notText
    if (problem !== undefined) throw badPath(path, problem)
    return this.chroot + path
  }

  /** Undefined if the path is outside the chroot. */
  fromServer = (path: string): string | undefined => {
    const { chroot } = this
    if (chroot === '') return path
    if (path === chroot) return '/'
    return path.startsWith(`${chroot}/`) ? path.slice(chroot.length) : undefined
  }
}

/**
 * The path, if it is legal; otherwise throws an OperationError (`badArguments`), as the server
 * would.
 */
export function checkPath(path: string): string {
  const problem = typeof path === 'string' ? pathProblem(path) : notText
  if (problem !== undefined) throw badPath(path, problem)
  return path
}

/**
 * The path of a node below another one.
 *
 *     joinPath('/app', 'users', id) // /app/users/17
 */
export function joinPath(parent: string, ...names: readonly string[]): string {
  let path = parent === '/' ? '' : parent
  for (const name of names) path += name.startsWith('/') ? name : `/${name}`
  return path === '' ? '/' : path
}

/**
 * The path of the parent; that of the root is the root.
 *
 *     parentPath('/app/users/17') // /app/users
 */
export const parentPath = parentOf

/**
 * The last component of a path.
 *
 *     nodeName('/app/users/17') // 17
 */
export const nodeName = nameOf

const notText = 'the path is not text'

function badPath(path: string, problem: string): OperationError {
  const told = typeof path === 'string' ? `'${path}'` : shown(path)
  return new OperationError('badArguments', { path }, `${told} is not a path: ${problem}`)
}
