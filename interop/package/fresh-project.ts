import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { runTool, type ToolResult } from '../src/tools.ts'

const npmMs = 180_000

/** A project as a stranger has it: a folder of its own, and what npm puts there. */
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

  /** Node, as a process of its own in this folder. */
  node(...args: readonly string[]): Promise<ToolResult> {
    return runTool(process.execPath, args, { cwd: this.folder, timeoutMs: 60_000 })
  }

  /** npx, as a user runs it in this folder. */
  npx(...args: readonly string[]): Promise<ToolResult> {
    return runTool('npx', ['--yes', ...args], { cwd: this.folder, timeoutMs: npmMs })
  }

  /** A program that a package brought. */
  tool(name: string, ...args: readonly string[]): Promise<ToolResult> {
    return runTool(this.pathOfTool(name), args, { cwd: this.folder, timeoutMs: 120_000 })
  }

  pathOfTool(name: string): string {
    return join(this.folder, 'node_modules', '.bin', name)
  }

  write(name: string, content: string): void {
    writeFileSync(join(this.folder, name), content)
  }

  /** The packages that npm put here, with what their package.json says. */
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
