import { serverState } from '../../view/server-state.ts'
import { versionText } from '../../view/version.ts'
import { roles } from '../roles.ts'
import type { Route } from '../route.ts'
import { array, boolean, choice, integer, object, text } from '../schema.ts'

export const whoami: readonly Route[] = [
  {
    method: 'GET',
    path: '/whoami',
    summary: 'The identities of the caller, and its role',
    role: 'none',
    isAlwaysAnswered: true,
    answer: object({
      role: choice(...roles),
      identities: array(object({ scheme: text, id: text })),
      server: object({ version: text, state: text, dataBytesMax: integer, isReadOnly: boolean }),
    }),
    handle: (call) => {
      const { role, view } = call
      // Without a leader the caller has no session.
      const identities = view.peer.isServing ? call.client.identities : []
      return Promise.resolve({
        role,
        identities: identities.map(({ scheme, id }) => ({
          scheme: scheme ?? '',
          // The part after the user name is a digest of the password.
          id: (scheme === 'digest' ? id?.split(':')[0] : id) ?? '',
        })),
        server: {
          version: versionText,
          state: serverState(view),
          dataBytesMax: view.config.juteMaxBuffer,
          isReadOnly: view.peer.isReadOnly,
        },
      })
    },
  },
]
