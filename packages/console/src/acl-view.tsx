import { useEffect, useState } from 'preact/hooks'
import { get, type AclEntry } from './api.ts'
import { Problem } from './dialog.tsx'
import { identityText, permsText } from './format.ts'
import { lazy } from './lazy.tsx'
import { mayWrite } from './state.ts'

const AclEditor = lazy(async () => (await import('./acl/acl-editor.tsx')).default)

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

interface Access {
  readonly acl: readonly AclEntry[]
  readonly aversion: number
}

/** The ACL of a znode, and its editor. */
export function AclView({ path, aversion }: { readonly path: string; readonly aversion: number }) {
  const [access, setAccess] = useState<Access | undefined>(undefined)
  const [isEdited, setEdited] = useState(false)
  const [error, setError] = useState<unknown>(undefined)
  const load = async (): Promise<void> => {
    try {
      setAccess(await get<Access>('/acl', { path }))
      setError(undefined)
    } catch (fault) {
      setError(fault)
    }
  }
  useEffect(() => void load(), [path, aversion])
  return (
    <section class="acl" aria-label="Access">
      <div class="line">
        <h3 class="grow">Access</h3>
        {mayWrite.value && access !== undefined && !isEdited && (
          <button type="button" onClick={() => setEdited(true)}>
            Edit access
          </button>
        )}
      </div>
      <Problem error={error} />
      {access !== undefined && <AclWords acl={access.acl} />}
      {isEdited && access !== undefined && (
        <AclEditor
          path={path}
          acl={access.acl}
          aversion={access.aversion}
          onConflict={load}
          onEnd={(isSaved) => {
            setEdited(false)
            if (isSaved) void load()
          }}
        />
      )}
    </section>
  )
}
