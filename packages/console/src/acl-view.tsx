import { useEffect, useState } from 'preact/hooks'
import { change, get, type AclEntry } from './api.ts'
import { Problem } from './dialog.tsx'
import { identityText, permsText } from './format.ts'
import { announcement, mayWrite } from './state.ts'

const letters = { r: 'Read', w: 'Write', c: 'Create', d: 'Delete', a: 'Admin' } as const

/** An ACL in words. */
export function AclWords({ acl }: { readonly acl: readonly AclEntry[] }) {
  return (
    <ul>
      {acl.map((entry) => (
        <li key={`${entry.scheme}:${entry.id}`}>
          <strong>{identityText(entry)}</strong> may {permsText(entry.perms)}
        </li>
      ))}
    </ul>
  )
}

/** Who may do what with a znode. */
export function AclView({ path, aversion }: { readonly path: string; readonly aversion: number }) {
  const [acl, setAcl] = useState<readonly AclEntry[] | undefined>(undefined)
  const [edited, setEdited] = useState<readonly AclEntry[] | undefined>(undefined)
  const [error, setError] = useState<unknown>(undefined)
  useEffect(() => {
    get<{ acl: AclEntry[] }>('/acl', { path }).then(
      (found) => {
        setAcl(found.acl)
        setError(undefined)
      },
      (fault: unknown) => setError(fault),
    )
  }, [path, aversion])
  const save = async (event: Event): Promise<void> => {
    event.preventDefault()
    try {
      await change('PUT', '/acl', { path, version: aversion }, { acl: edited ?? [] })
      announcement.value = `The ACL of ${path} is saved`
      setAcl(edited)
      setEdited(undefined)
    } catch (fault) {
      setError(fault)
    }
  }
  const replace = (at: number, entry: AclEntry): void =>
    setEdited(edited?.map((each, index) => (index === at ? entry : each)))
  return (
    <section class="acl" aria-label="Access">
      <div class="line">
        <h3 class="grow">Access</h3>
        {mayWrite.value && acl !== undefined && edited === undefined && (
          <button type="button" onClick={() => setEdited(acl)}>
            Edit access
          </button>
        )}
      </div>
      <Problem error={error} />
      {edited === undefined ? (
        <AclWords acl={acl ?? []} />
      ) : (
        <form onSubmit={(event) => void save(event)}>
          {edited.map((entry, at) => (
            <fieldset key={at}>
              <legend>{identityText(entry)}</legend>
              <div class="line">
                <input
                  aria-label="Scheme"
                  value={entry.scheme}
                  onInput={(event) => replace(at, { ...entry, scheme: event.currentTarget.value })}
                />
                <input
                  aria-label="Identity"
                  class="grow"
                  value={entry.id}
                  onInput={(event) => replace(at, { ...entry, id: event.currentTarget.value })}
                />
                <button
                  type="button"
                  onClick={() => setEdited(edited.filter((_, index) => index !== at))}
                >
                  Remove
                </button>
              </div>
              <div class="line">
                {Object.entries(letters).map(([letter, word]) => (
                  <label key={letter} class="check">
                    <input
                      type="checkbox"
                      checked={entry.perms.includes(letter)}
                      onChange={(event) => {
                        const rest = entry.perms.replace(letter, '')
                        replace(at, {
                          ...entry,
                          perms: event.currentTarget.checked ? rest + letter : rest,
                        })
                      }}
                    />
                    {word}
                  </label>
                ))}
              </div>
            </fieldset>
          ))}
          <div class="line">
            <button
              type="button"
              onClick={() => setEdited([...edited, { scheme: 'world', id: 'anyone', perms: 'r' }])}
            >
              Add entry
            </button>
            <span class="grow" />
            <button class="primary" disabled={edited.length === 0}>
              Save access
            </button>
            <button type="button" onClick={() => setEdited(undefined)}>
              Cancel
            </button>
          </div>
        </form>
      )}
    </section>
  )
}
