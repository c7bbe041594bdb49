import { channel } from 'node:diagnostics_channel'
import { hostname } from 'node:os'
import { nextTick, pid } from 'node:process'
import type { Host } from '../host.ts'
import { openTcp } from '../transport/tcp.ts'
import { openTls, type TlsOptions } from '../transport/tls.ts'

export interface NodeHostOptions {
  /** Do not keep the process alive. */
  readonly unref?: boolean | undefined
  /** `true` is TLS with Node's defaults. */
  readonly tls?: boolean | TlsOptions | undefined
  /** How long to poll for an answer before the loop sleeps. */
  readonly answerPollMicros?: number | undefined
}

const answerPollMicrosDefault = 250

/** The longest timer of Node; it treats longer ones as 1 ms. */
const waitMsMax = 0x7fffffff

/** `Infinity` never fires. */
function startTimer(ms: number, callback: () => void, unref: boolean): () => void {
  if (ms === Infinity) return () => {}
  let timer: NodeJS.Timeout
  const wait = (leftMs: number): void => {
    const next = leftMs > waitMsMax ? () => wait(leftMs - waitMsMax) : callback
    timer = setTimeout(next, Math.min(leftMs, waitMsMax))
    if (unref) timer.unref()
  }
  wait(ms)
  return () => clearTimeout(timer)
}

/** Streams, time and randomness, from Node. */
export function nodeHost({
  unref = false,
  tls = false,
  answerPollMicros = answerPollMicrosDefault,
}: NodeHostOptions = {}): Host {
  const random = (): number => Math.random()
  const socketOptions = { random, unref, answerPollMicros }
  return {
    nowMs: () => performance.now(),
    random,
    timer: (ms, callback) => startTimer(ms, callback, unref),
    // Runs after all settled promises have run, so the requests they make leave together.
    defer: (callback) => nextTick(callback),
    open: (server, events) =>
      tls === false
        ? openTcp(server, events, socketOptions)
        : openTls(server, events, socketOptions, tls === true ? {} : tls),
    channel,
    wallMs: () => Date.now(),
    processName: `${hostname()}:${pid}`,
  }
}
