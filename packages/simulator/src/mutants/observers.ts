/** Errors of followers that accept observers. */
import { packetTypes } from '@zabra/protocol'
import { inside, replace } from './inside.ts'
import type { Mutant } from '../cluster/mutant.ts'
import { ofLearner, type LinkInside } from './roles.ts'
import { forget, type HoldingInside } from './synchronization.ts'

type Sent = Parameters<LinkInside['sendPacket']>

interface MasterInside {
  readonly parts: { readonly up: object }
}

/** Changes the observer master of each follower, once it exists. */
function ofMaster(name: string, change: (master: MasterInside & object) => void): Mutant {
  const options = { shape: 'observers', observerMasters: true } as const
  return ofLearner(
    name,
    (_learner, _peer, role) => {
      let master: unknown
      Object.defineProperty(role, 'observers', {
        get: () => master,
        set: (value: unknown) => {
          master = value
          if (typeof value === 'object' && value !== null) change(value as MasterInside)
        },
      })
    },
    options,
  )
}

export const observerMutants: readonly Mutant[] = [
  ofMaster('now and then a follower does not inform its observer', (master) => {
    replace<[LinkInside], void>(master, 'accept', (original) => (link) => {
      let informed = 0
      replace<Sent, void>(link, 'sendPacket', (send) => (packet) => {
        if (packet.type !== packetTypes.inform || ++informed % 10 !== 0) send(packet)
      })
      original(link)
    })
  }),
  ofMaster('a follower keeps to itself which clients of its observers were heard of', (master) => {
    replace<[unknown], void>(inside(master, 'master'), 'touch', () => () => {})
  }),
  ofMaster('what is committed while an observer joins is not told to it', (master) => {
    replace<[HoldingInside], void>(inside(master, 'master', 'observers'), 'release', () => forget)
  }),
  ofMaster('a sync of an observer is answered without asking the leader', (master) => {
    const { up } = master.parts
    replace<[unknown, () => void], void>(up, 'relaySync', () => (_packet, answered) => answered())
  }),
]
