import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { runTool, type ToolResult } from '../src/tools.ts'

const npmMs = 180_000
/** A simulation takes minutes on a busy machine. */
const programMs = 300_000

/** A user's project: a folder, and what npm installs there. */
export class FreshProject {
  readonly folder: string

  constructor(parent: string, name: string) {
    this.folder = join(parent, name)
    mkdirSync(this.folder)
    this.write('package.json', JSON.stringify({ name, private: true, type: 'module' }))
  }

  install(...packages: readonly string[]): Promise<ToolResult> {
    const args = ['install', '--no-audit', '--no-fund', ...packages]
    return runTool('npm', args, { cwd: this.folder, timeoutMs: npmMs })
  }

  /** Runs Node as a separate process in this folder. */
  node(...args: readonly string[]): Promise<ToolResult> {
    return runTool(process.execPath, args, { cwd: this.folder, timeoutMs: programMs })
  }

  /** Runs npx in this folder, as a user does. */
  npx(...args: readonly string[]): Promise<ToolResult> {
    return runTool('npx', ['--yes', ...args], { cwd: this.folder, timeoutMs: npmMs })
  }

  /** Runs a program that a package installed. */
  tool(name: string, ...args: readonly string[]): Promise<ToolResult> {
    return runTool(this.pathOfTool(name), args, { cwd: this.folder, timeoutMs: 120_000 })
  }

  pathOfTool(name: string): string {
    return join(this.folder, 'node_modules', '.bin', name)
  }

  write(name: string, content: string): void {
    writeFileSync(join(this.folder, name), content)
  }

  /** The packages that npm installed here, with their package.json. */
  installed(): { readonly name: string; readonly manifest: Record<string, unknown> }[] {
    const lock = JSON.parse(
      readFileSync(join(this.folder, 'node_modules', '.package-lock.json'), 'utf8'),
    ) as { packages: Record<string, unknown> }
    return Object.keys(lock.packages).map((path) => ({
      name: path.replace(/^.*node_modules\//, ''),
      manifest: JSON.parse(readFileSync(join(this.folder, path, 'package.json'), 'utf8')),
    }))
  }

  installedBytes(): number {
    const modules = join(this.folder, 'node_modules')
    return readdirSync(modules, { recursive: true, encoding: 'utf8' })
      .filter((file) => !file.startsWith('.'))
      .map((file) => statSync(join(modules, file)))
      .reduce((sum, stat) => sum + (stat.isFile() ? stat.size : 0), 0)
  }
}
