import { defaultLimits } from '@zabra/core'
import { property } from '../key.ts'
import { choice, int, list, path, text } from '../value-types.ts'

const positive = { min: 1, outside: 'default' } as const
const ours = { range: positive, departs: "zabra's own." }

/** What one client, and all clients together, can make the server hold or do. */
export const bounds = {
  'limits.outstandingPerConnection': property(
    int,
    defaultLimits.outstandingPerConnection,
    'Requests in flight of one connection above which the server stops reading from it.',
    ours,
  ),
  'limits.outstandingBytes': property(
    int,
    defaultLimits.outstandingBytes,
    'Bytes of requests above 4 KiB in flight above which the server stops reading from connections that have one.',
    ours,
  ),
  'limits.outstandingBytesPerConnection': property(
    int,
    defaultLimits.outstandingBytesPerConnection,
    'The same of one connection.',
    ours,
  ),
  'limits.unreadBytes': property(
    int,
    256 * 1024 * 1024,
    'Bytes sent to all clients that they have not read; above it those that do not read are closed, above twice that also others, the one with most first.',
    ours,
  ),
  'limits.unreadBytesPerConnection': property(
    int,
    defaultLimits.unreadBytesMax,
    'Bytes sent to one client that it has not read, such as notifications; above it the connection is closed.',
    ours,
  ),
  'limits.multiOperations': property(
    int,
    10_000,
    'Operations of one multi; one with more is refused with BadArguments.',
    ours,
  ),
  'limits.multiReadBytes': property(
    int,
    defaultLimits.multiReadBytes,
    'Bytes of the reply to one multiRead; a longer one is refused with BadArguments.',
    ours,
  ),
  'limits.watchesPerSession': property(
    int,
    defaultLimits.watchesPerSession,
    'Watches of one session; one more is refused with QuotaExceeded. A path counts once more for each 256 characters.',
    ours,
  ),
  'limits.watches': property(
    int,
    defaultLimits.watches,
    'Watches of all sessions of this server, counted in the same way.',
    ours,
  ),
  'limits.identitiesPerConnection': property(
    int,
    defaultLimits.identities,
    'Identities that one connection proves; one more fails with AuthFailed.',
    { range: { min: 2, max: 4000, outside: 'default' }, departs: "zabra's own." },
  ),
} as const

/** Secrets of sessions, and who may use the admin port. */
export const guards = {
  'session.secretFile': property(
    path,
    undefined,
    'File with a secret of 16 characters or more, the same on every server, from which the passwords of sessions are made.',
    {
      defaultText: 'none',
      departs: "zabra's own. Apache's passwords follow from session ids alone.",
    },
  ),
  'session.passwords': property(
    choice(['apache', 'both', 'secret']),
    undefined,
    "Which passwords sessions get: Apache's (apache), or those of the secret (both, secret). Accepted are both kinds, with secret only its own.",
    { defaultText: 'secret with session.secretFile, else apache', departs: "zabra's own." },
  ),
  'admin.identities': property(
    text,
    '',
    'Identities besides the super user that may use all admin commands, as scheme:id, separated by semicolons.',
    { defaultText: 'none', departs: "zabra's own." },
  ),
  'admin.allowedHosts': property(
    list,
    [],
    "Names by which the admin port may be asked for, besides addresses, localhost, the machine's name and the members of the ensemble.",
    { defaultText: 'none', departs: "zabra's own." },
  ),
} as const
