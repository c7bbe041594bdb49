import { connect as connectTcp } from 'node:net'
import { noData, type Client } from '@zabra/client'
import { openClient, tlsOptions } from '../connection/connect.ts'
import type { ConnectionSettings } from '../connection/settings.ts'
import { addressText, type Address } from '../ensemble/address.ts'
import { networkReason } from '../ensemble/network-reason.ts'
import type { Finding } from '../ensemble/judge.ts'
import { releaseText } from '../ensemble/server-status.ts'
import type { Survey } from '../ensemble/survey.ts'

/** Whether all members hold the same configuration and run the same release. */
export async function examineMembers(
  { answers }: Survey,
  settings: ConnectionSettings,
  signal: AbortSignal,
): Promise<Finding[]> {
  const up = answers.flatMap(({ member, status }) =>
    status === undefined || member.client === undefined
      ? []
      : [{ name: addressText(member.client), version: releaseText(status) }],
  )
  if (up.length < 2) return []
  const texts = await Promise.all(
    up.map(({ name }) => configOf({ ...settings, servers: name }, signal).catch(() => undefined)),
  )
  const known = texts.filter((text) => text !== undefined)
  const versions = new Set(up.map(({ version }) => version))
  return [
    new Set(known).size <= 1
      ? { check: 'configuration', verdict: 'ok', message: `the same on ${known.length} members` }
      : {
          check: 'configuration',
          verdict: 'problem',
          message: 'members hold different configurations',
          advice: 'compare `zabra members --raw --servers` of each; a member that was away may lag',
        },
    versions.size <= 1
      ? { check: 'release', verdict: 'ok', message: [...versions].join() }
      : {
          check: 'release',
          verdict: 'warning',
          message: `different releases: ${[...versions].join(', ')}`,
          advice: 'fine while upgrading; finish it soon',
        },
  ]
}

async function configOf(settings: ConnectionSettings, signal: AbortSignal): Promise<string> {
  const client = await openClient(settings, { signal })
  try {
    const { data } = await client.get('/zookeeper/config', { signal })
    return data === noData ? '' : Buffer.from(data).toString()
  } finally {
    await client.close()
  }
}

/** Whether the ports between servers are open from here. Members log the connections. */
export async function examinePorts({ answers }: Survey, timeoutMs: number): Promise<Finding[]> {
  const findings = await Promise.all(
    answers.flatMap(({ member: { id, spec } }) =>
      peerPorts(spec ?? '').map(async ({ what, address }): Promise<Finding> => {
        const problem = await reach(address, timeoutMs)
        const check = `server.${id}`
        const port = `${what} port ${addressText(address)}`
        if (problem === undefined) return { check, verdict: 'ok', message: `${port} is open` }
        // Only the leader listens on its quorum port.
        if (what === 'quorum' && (problem as NodeJS.ErrnoException).code === 'ECONNREFUSED')
          return {
            check,
            verdict: 'ok',
            message: `${port} is closed, as it is unless this member leads`,
          }
        return {
          check,
          verdict: 'problem',
          message: `${port}: ${networkReason(problem)}`,
          advice: 'check firewalls and network policies between the members',
        }
      }),
    ),
  )
  return findings
}

function peerPorts(spec: string): { readonly what: string; readonly address: Address }[] {
  const [peers = ''] = spec.split(';')
  return peers.split('|').flatMap((text) => {
    const [, bracketed, plain, quorum, election] =
      /^(?:\[([^\]]+)\]|([^:]+)):(\d+):(\d+)/.exec(text) ?? []
    const host = bracketed ?? plain
    if (host === undefined) return []
    return [
      { what: 'quorum', address: { host, port: Number(quorum) } },
      { what: 'election', address: { host, port: Number(election) } },
    ]
  })
}

function reach({ host, port }: Address, timeoutMs: number): Promise<Error | undefined> {
  return new Promise((resolve) => {
    const socket = connectTcp(port, host)
    const end = (problem?: Error): void => {
      socket.destroy()
      resolve(problem)
    }
    socket.setTimeout(timeoutMs, () => end(new Error('no answer in time')))
    socket.once('connect', () => end())
    socket.once('error', end)
  })
}

const soonMs = 30 * 24 * 3_600_000

/** How long the certificates of the servers are valid, where TLS is used. */
export async function examineCertificates(
  { answers }: Survey,
  settings: ConnectionSettings,
): Promise<Finding[]> {
  if (settings.tls === undefined) return []
  const { connect } = await import('node:tls')
  const options = await tlsOptions(settings.tls)
  const servers = answers.flatMap(({ member }) => member.client ?? [])
  return Promise.all(
    servers.map(
      (address) =>
        new Promise<Finding>((resolve) => {
          const check = `certificate of ${addressText(address)}`
          const socket = connect({ ...options, ...address, rejectUnauthorized: false }, () => {
            const { valid_to: validTo, subject } = socket.getPeerCertificate()
            const leftMs = Date.parse(validTo) - Date.now()
            const message = `${subject?.CN ?? 'no name'}, valid until ${new Date(validTo).toISOString()}`
            socket.destroy()
            resolve({
              check,
              verdict: leftMs < 0 ? 'problem' : leftMs < soonMs ? 'warning' : 'ok',
              message,
              advice: 'renew it; servers take new files without a restart',
            })
          })
          socket.setTimeout(settings.timeoutMs, () =>
            socket.destroy(new Error('no answer in time')),
          )
          socket.once('error', (error) =>
            resolve({ check, verdict: 'problem', message: error.message }),
          )
        }),
    ),
  )
}

const skewMaxMs = 2000

/** Whether this machine and the leader agree about the time. Makes an ephemeral node to learn it. */
export async function examineClock(client: Client): Promise<Finding> {
  const options = { ephemeral: true, sequential: true }
  const before = Date.now()
  const { path } = await client.create('/zabra-doctor-', '', options)
  const after = Date.now()
  const stat = await client.exists(path)
  await client.delete(path)
  const serverMs = Number(stat?.ctime ?? BigInt(before))
  const skewMs = serverMs < before ? serverMs - before : serverMs > after ? serverMs - after : 0
  return {
    check: 'clock of the leader',
    verdict: Math.abs(skewMs) <= skewMaxMs ? 'ok' : 'warning',
    message: `${Math.abs(skewMs)} ms ${skewMs < 0 ? 'behind' : 'ahead of'} the clock here`,
    advice: 'run an NTP client on both machines',
  }
}
