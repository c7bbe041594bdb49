import { useState } from 'preact/hooks'
import { change, get, type AclEntry, type Node } from './api.ts'
import { Dialog, Problem } from './dialog.tsx'
import { joinPath } from './paths.ts'
import { announcement, go, who } from './state.ts'

type Access = 'open' | 'parent' | 'own' | 'shared'

const own: AclEntry = { scheme: 'auth', id: '', perms: 'crwda' }
const readable: AclEntry = { scheme: 'world', id: 'anyone', perms: 'r' }

/** The ACL of a new znode; without one, it is open to everybody. */
async function aclFor(
  access: Access,
  parent: string,
): Promise<{ readonly acl?: readonly AclEntry[] }> {
  if (access === 'own') return { acl: [own] }
  if (access === 'shared') return { acl: [own, readable] }
  return access === 'parent'
    ? { acl: (await get<{ acl: AclEntry[] }>('/acl', { path: parent })).acl }
    : {}
}

/** Creates a child of a znode. */
export function CreateDialog({
  parent,
  onClose,
}: {
  readonly parent: string
  readonly onClose: () => void
}) {
  const [name, setName] = useState('')
  const [data, setText] = useState('')
  const [kind, setKind] = useState('persistent')
  const [ttl, setTtl] = useState('60')
  const [isSequential, setSequential] = useState(false)
  const [access, setAccess] = useState<Access>('open')
  const isKnown = who.value?.identities.some(({ scheme }) => scheme !== 'ip') === true
  const [error, setError] = useState<unknown>(undefined)
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault()
    try {
      const ttlMs = kind === 'ttl' ? { ttlMs: Math.round(Number(ttl) * 1000) } : {}
      const path = joinPath(parent, name)
      const acl = await aclFor(access, parent)
      const body = { path, data, kind, isSequential, ...ttlMs, ...acl }
      const made = await change<Node>('POST', '/node', {}, body)
      announcement.value = `${made.path} is created`
      onClose()
      go('tree', { path: made.path })
    } catch (fault) {
      setError(fault)
    }
  }
  return (
    <Dialog title={`New child of ${parent}`} onClose={onClose}>
      <form onSubmit={(event) => void submit(event)}>
        <label>
          Name
          <input
            required={!isSequential}
            value={name}
            onInput={(event) => setName(event.currentTarget.value)}
          />
        </label>
        <label>
          Kind
          <select value={kind} onChange={(event) => setKind(event.currentTarget.value)}>
            <option value="persistent">persistent: stays until it is deleted</option>
            <option value="container">container: goes some time after its last child</option>
            <option value="ttl">TTL: goes when it has not changed for some time</option>
          </select>
          <small class="muted">
            Ephemeral znodes live as long as the session of a client: clients create them.
          </small>
        </label>
        {kind === 'ttl' && (
          <label>
            Seconds
            <input
              type="number"
              min="1"
              value={ttl}
              onInput={(event) => setTtl(event.currentTarget.value)}
            />
          </label>
        )}
        {kind !== 'container' && (
          <label class="check">
            <input
              type="checkbox"
              checked={isSequential}
              onChange={(event) => setSequential(event.currentTarget.checked)}
            />
            add a number to the name
          </label>
        )}
        <label>
          Access
          <select
            value={access}
            onChange={(event) => setAccess(event.currentTarget.value as Access)}
          >
            <option value="open">everybody may do everything</option>
            <option value="parent">the same as for {parent}</option>
            <option value="own" disabled={!isKnown}>
              only you, as you are signed in
            </option>
            <option value="shared" disabled={!isKnown}>
              you everything, everybody may read
            </option>
          </select>
        </label>
        <label>
          Data
          <textarea rows={5} value={data} onInput={(event) => setText(event.currentTarget.value)} />
        </label>
        <Problem error={error} />
        <button class="primary">Create</button>
      </form>
    </Dialog>
  )
}
