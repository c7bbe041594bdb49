import { History, MemoryDisk, type Disk, type HistoryRetention } from '@zabra/core'
import type { EventLogger } from '../base/event-logger.ts'
import { Slices } from '../base/slices.ts'
import type { ServerConfig } from '../config/config.ts'
import { zlibCompression as compression } from '../disk/zlib-compression.ts'
import type { Parts } from './assemble.ts'

/**
 * Retention of files for history alone; undefined for a server in memory, which has no room for
 * them.
 */
export function historyRetention(config: ServerConfig, disk: Disk): HistoryRetention | undefined {
  const { enabled, retainBytes, retainMs } = config.history
  if (!enabled || disk instanceof MemoryDisk) return undefined
  return { retainBytes: retainBytes || Infinity, retainMs: retainMs || Infinity }
}

/** History, up to the last transaction that is committed and durable here. */
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
