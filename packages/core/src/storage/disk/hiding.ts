import type { Disk } from '../../ports.ts'

/** The disk without some files: whoever lists a directory does not find them. */
export function hiding(disk: Disk, names: ReadonlySet<string>): Disk {
  const view = Object.create(disk) as Disk
  view.list = async (directory) =>
    (await disk.list(directory)).filter(({ name }) => !names.has(name))
  return view
}
