import { History, MemoryDisk, type Disk, type HistoryRetention } from '@zabra/core'
import type { EventLogger } from '../base/event-logger.ts'
import { Slices } from '../base/slices.ts'
import type { ServerConfig } from '../config/config.ts'
import { zlibCompression as compression } from '../disk/zlib-compression.ts'
import type { Parts } from './assemble.ts'

/** What is kept for history alone; a server in memory has no room for what nobody needs. */
export function historyRetention(config: ServerConfig, disk: Disk): HistoryRetention | undefined {
  const { enabled, retainBytes, retainMs } = config.history
  if (!enabled || disk instanceof MemoryDisk) return undefined
  return { retainBytes: retainBytes || Infinity, retainMs: retainMs || Infinity }
}

/** The past as far as it is committed and durable here. */
export function openHistory(
  config: ServerConfig,
  disk: Disk,
  places: Parts['directories'],
  logger: EventLogger,
  upTo: () => bigint,
): History | undefined {
  if (!config.history.enabled) return undefined
  return new History(disk, {
    places,
    compression,
    upTo,
    keepsIndexes: true,
    pause: new Slices().pause,
    trace({ type, file, message }) {
      if (type === 'indexDamaged') {
        logger.warn('history: rebuilding damaged index', { file, error: message })
      } else {
        logger.warn('history: cannot write index', { file, error: message })
      }
    },
  })
}
