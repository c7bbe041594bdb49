import { pathProblem } from '@zabra/protocol'
import { OperationError } from './errors.ts'

/** Paths as the caller writes them, below a chroot, and as the server knows them. */
export class Paths {
  readonly chroot: string

  constructor(chroot: string) {
    const problem = chroot === '' ? undefined : pathProblem(chroot)
    if (problem !== undefined) throw new TypeError(`the chroot '${chroot}': ${problem}`)
    this.chroot = chroot
  }

  /** Throws where the path is not one. */
  toServer(path: string): string {
    const problem = pathProblem(path)
    if (problem !== undefined) throw badPath(path, problem)
    if (this.chroot === '') return path
    return path === '/' ? this.chroot : this.chroot + path
  }

  /** The path of a sequential node may end in a slash: the number follows. */
  toServerSequential(path: string): string {
    const problem = pathProblem(`${path}0`)
    if (problem !== undefined) throw badPath(path, problem)
    return this.chroot + path
  }

  /** Undefined where the path is outside the chroot. */
  fromServer = (path: string): string | undefined => {
    const { chroot } = this
    if (chroot === '') return path
    if (path === chroot) return '/'
    return path.startsWith(`${chroot}/`) ? path.slice(chroot.length) : undefined
  }
}

function badPath(path: string, problem: string): OperationError {
  return new OperationError('badArguments', { path }, `'${path}' is not a path: ${problem}`)
}
