import {
  existsSync,
  mkdtempSync,
  openSync,
  closeSync,
  fdatasyncSync,
  readFileSync,
  rmSync,
  statfsSync,
  writeSync,
} from 'node:fs'
import { freemem, loadavg, totalmem } from 'node:os'
import { cpus } from 'node:os'
import { join } from 'node:path'
import type { Finding } from '../ensemble/judge.ts'
import { Quantiles } from '../output/quantiles.ts'

const megabyte = 1024 * 1024

/** The machine that this command runs on. */
export function examineMachine(): Finding[] {
  return [nodeVersion(), openFiles(), memory(), swap(), load(), clock()].flatMap(
    (each) => each ?? [],
  )
}

function nodeVersion(): Finding {
  const major = Number(process.versions.node.split('.')[0])
  return major >= 20
    ? { check: 'node', verdict: 'ok', message: process.version }
    : {
        check: 'node',
        verdict: 'problem',
        message: `${process.version} is too old`,
        advice: 'zabra needs Node 20 or newer',
      }
}

const openFilesMin = 8192

function openFiles(): Finding | undefined {
  const [, soft] = /^Max open files\s+(\d+|unlimited)/m.exec(readIfThere('/proc/self/limits')) ?? []
  if (soft === undefined) return undefined
  if (soft === 'unlimited' || Number(soft) >= openFilesMin)
    return { check: 'open files', verdict: 'ok', message: `limit ${soft}` }
  return {
    check: 'open files',
    verdict: 'warning',
    message: `a process may open ${soft} files: each client needs one`,
    advice: `raise it, for example LimitNOFILE=${openFilesMin * 8} in the systemd unit`,
  }
}

const memoryMin = 256 * megabyte

function memory(): Finding {
  const [free, total] = [availableMemory(), totalmem()]
  const message = `${Math.round(free / megabyte)} of ${Math.round(total / megabyte)} MB available`
  return free >= memoryMin
    ? { check: 'memory', verdict: 'ok', message }
    : {
        check: 'memory',
        verdict: 'warning',
        message,
        advice: 'the tree lives in memory; a server that swaps misses its heartbeats',
      }
}

function availableMemory(): number {
  const [, kilobytes] = /^MemAvailable:\s+(\d+)/m.exec(readIfThere('/proc/meminfo')) ?? []
  return kilobytes === undefined ? freemem() : Number(kilobytes) * 1024
}

function swap(): Finding | undefined {
  const text = readIfThere('/proc/meminfo')
  const [, total] = /^SwapTotal:\s+(\d+)/m.exec(text) ?? []
  const [, free] = /^SwapFree:\s+(\d+)/m.exec(text) ?? []
  if (total === undefined || free === undefined) return undefined
  const used = (Number(total) - Number(free)) / 1024
  if (used < 64) return { check: 'swap', verdict: 'ok', message: `${Math.round(used)} MB used` }
  return {
    check: 'swap',
    verdict: 'warning',
    message: `${Math.round(used)} MB used`,
    advice: 'lower vm.swappiness, or switch swap off on servers',
  }
}

function load(): Finding {
  const [average = 0] = loadavg()
  const cores = cpus().length
  const message = `${average.toFixed(1)} on ${cores} cores`
  return average <= cores * 2
    ? { check: 'load', verdict: 'ok', message }
    : {
        check: 'load',
        verdict: 'warning',
        message,
        advice: 'a server that waits for the processor answers late; give it room',
      }
}

/** Whether something keeps the clock right, where systemd tells. */
function clock(): Finding | undefined {
  if (!existsSync('/run/systemd/timesync') && !existsSync('/run/systemd/system')) return undefined
  return existsSync('/run/systemd/timesync/synchronized')
    ? { check: 'clock', verdict: 'ok', message: 'synchronized' }
    : {
        check: 'clock',
        verdict: 'warning',
        message: 'systemd does not know it as synchronized',
        advice:
          'sessions do not depend on it, but times in logs and TTL nodes do: run an NTP client',
      }
}

const fileSystems: ReadonlyMap<number, { readonly name: string; readonly advice?: string }> =
  new Map([
    [0xef53, { name: 'ext4' }],
    [0x58465342, { name: 'xfs' }],
    [0x9123683e, { name: 'btrfs' }],
    [0x2fc12fc1, { name: 'zfs' }],
    [0x01021994, { name: 'tmpfs', advice: 'it is memory: everything is gone after a restart' }],
    [0x6969, { name: 'nfs', advice: 'syncs over a network are slow, and locks unreliable' }],
    [0xff534d42, { name: 'cifs', advice: 'syncs over a network are slow, and locks unreliable' }],
    [0x794c7630, { name: 'overlayfs', advice: 'a container loses it: mount a volume' }],
  ])

const freeMin = 1024 * megabyte
const slowSyncMs = 20
const syncs = 50

/** The disk below a data directory: how quickly it makes writes durable, and how much room it has. */
export function examineDisk(directory: string): Finding[] {
  if (!existsSync(directory))
    return [{ check: 'disk', verdict: 'problem', message: `${directory} does not exist` }]
  const { type, bavail, bsize, ffree } = statfsSync(directory)
  const system = fileSystems.get(type)
  const free = bavail * bsize
  const findings: Finding[] = [
    {
      check: 'file system',
      verdict: system?.advice === undefined ? 'ok' : 'warning',
      message: `${directory} is on ${system?.name ?? `type 0x${type.toString(16)}`}`,
      ...(system?.advice === undefined ? {} : { advice: system.advice }),
    },
    {
      check: 'free space',
      verdict: free >= freeMin ? 'ok' : 'warning',
      message: `${Math.round(free / megabyte)} MB in ${directory}`,
      advice: 'writes stop when the disk is full; see autopurge.* for what is kept',
    },
  ]
  if (ffree < 10_000 && ffree > 0)
    findings.push({ check: 'inodes', verdict: 'warning', message: `${ffree} free` })
  findings.push(syncTimes(directory))
  return findings
}

function syncTimes(directory: string): Finding {
  const times = new Quantiles()
  let folder: string
  try {
    folder = mkdtempSync(join(directory, 'zabra-doctor-'))
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    return {
      check: 'disk sync',
      verdict: 'problem',
      message: `cannot write to ${directory}: ${code}`,
    }
  }
  try {
    const file = openSync(join(folder, 'probe'), 'w')
    const block = new Uint8Array(4096)
    for (let i = 0; i < syncs; i++) {
      const begun = performance.now()
      writeSync(file, block)
      fdatasyncSync(file)
      times.add(performance.now() - begun)
    }
    closeSync(file)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
  const { p50, p99 } = times.summary()
  return {
    check: 'disk sync',
    verdict: p99 <= slowSyncMs ? 'ok' : 'warning',
    message: `${p50} ms half of the time, ${p99} ms at the worst of ${syncs}`,
    advice: 'every write waits for a sync: give dataLogDir a quick disk of its own',
  }
}

function readIfThere(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}
