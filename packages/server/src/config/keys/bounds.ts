import { defaultLimits } from '@zabra/core'
import { property } from '../key.ts'
import { bool, choice, int, list, path, text } from '../value-types.ts'

const positive = { min: 1, outside: 'default' } as const
const ours = { range: positive, departs: 'Only in zabra.' }

/** Limits of what one client, and all clients together, can make the server store or do. */
export const bounds = {
  'limits.outstandingPerConnection': property(
    int,
    defaultLimits.outstandingPerConnection,
    'Requests in flight on one connection. Above it, the server stops reading from that connection.',
    ours,
  ),
  'limits.outstandingBytes': property(
    int,
    defaultLimits.outstandingBytes,
    'Bytes in flight of requests longer than 4 KiB. Above it, the server stops reading from connections that have one.',
    ours,
  ),
  'limits.outstandingBytesPerConnection': property(
    int,
    defaultLimits.outstandingBytesPerConnection,
    'The same for one connection.',
    ours,
  ),
  'limits.unreadBytes': property(
    int,
    256 * 1024 * 1024,
    'Unread bytes of all clients. Above it, connections that do not read are closed; above twice that, others too. The one with the most unread bytes is closed first.',
    ours,
  ),
  'limits.unreadBytesPerConnection': property(
    int,
    defaultLimits.unreadBytesMax,
    'Unread bytes of one client, such as notifications. Above it, the connection is closed.',
    ours,
  ),
  'limits.multiOperations': property(
    int,
    10_000,
    'Operations in one multi. A multi with more is refused with BadArguments.',
    ours,
  ),
  'limits.multiReadBytes': property(
    int,
    defaultLimits.multiReadBytes,
    'Bytes of the reply to one multiRead. A longer reply is refused with BadArguments.',
    ours,
  ),
  'limits.watchesPerSession': property(
    int,
    defaultLimits.watchesPerSession,
    'Watches of one session. A further one is refused with QuotaExceeded. A path counts once more for each 256 characters.',
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
    'Identities of one connection. A further one fails with AuthFailed.',
    { range: { min: 2, max: 4000, outside: 'default' }, departs: 'Only in zabra.' },
  ),
} as const

/** Session secrets, and access to the admin port. */
export const guards = {
  'session.secretFile': property(
    path,
    undefined,
    'File with a secret of at least 16 characters, the same on every server, from which session passwords are computed.',
    {
      defaultText: 'none',
      departs: 'Only in zabra. Apache computes passwords from session ids alone.',
    },
  ),
  'session.passwords': property(
    choice(['apache', 'both', 'secret']),
    undefined,
    "Which passwords sessions get: Apache's (apache), or those made from the secret (both, secret). apache and both accept either kind, secret only its own.",
    { defaultText: 'secret with session.secretFile, else apache', departs: 'Only in zabra.' },
  ),
  'admin.identities': property(
    text,
    '',
    'Identities that may use all admin commands, in addition to the super user, as scheme:id, separated by semicolons.',
    { defaultText: 'none', departs: 'Only in zabra.' },
  ),
  'admin.allowedHosts': property(
    list,
    [],
    "Host names accepted by the admin port, in addition to addresses, localhost, the machine's name and the members of the ensemble.",
    { defaultText: 'none', departs: 'Only in zabra.' },
  ),
  'api.enabled': property(bool, true, 'Serve the HTTP API and the console on the admin port.', {
    departs: 'Only in zabra.',
  }),
  'api.anonymous': property(
    choice(['none', 'metadata', 'read', 'write']),
    undefined,
    'What everybody but administrators may do through the HTTP API: nothing, see names and stats, see data, or change the tree. ACLs apply too.',
    {
      defaultText: 'write where admin.serverAddress is a loopback address, else none',
      departs: 'Only in zabra.',
    },
  ),
  'api.identities': property(
    text,
    '',
    'Identities and what they may do through the HTTP API, as role=scheme:id, separated by semicolons; a role is metadata, read, write or admin. ACLs apply too.',
    { defaultText: 'none', departs: 'Only in zabra.' },
  ),
  'api.tokenFile': property(
    path,
    undefined,
    'File with the tokens that programs may send to the HTTP API ([format](api.md#tokens)). It is read again when it changes.',
    { defaultText: 'none', departs: 'Only in zabra.' },
  ),
} as const
