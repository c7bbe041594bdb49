import { useState } from 'preact/hooks'
import { ApiError, change, type AclEntry } from '../api.ts'
import { Problem } from '../dialog.tsx'
import { identityText, permsText } from '../format.ts'
import { announcement, who } from '../state.ts'
import { digestIdentity } from './digest.ts'
import { letters, userOf, warningsAbout, type Letter } from './grants.ts'

const letterText: Readonly<Record<Letter, string>> = {
  r: 'read data and list children',
  w: 'write data',
  c: 'create children',
  d: 'delete children',
  a: 'change this access',
}
const schemes = {
  world: 'everybody',
  auth: 'you, as you are signed in',
  digest: 'a user with a password',
  ip: 'an address or network',
  x509: 'a client certificate',
  sasl: 'a SASL user',
} as const
const hints: Readonly<Record<string, string>> = {
  ip: '10.0.0.1 or 10.0.0.0/8',
  x509: 'CN=name,OU=unit',
  sasl: 'user or user@REALM',
}
const presets = [
  ['Everything', 'crwda'],
  ['Read', 'r'],
  ['Read and write', 'rw'],
] as const

interface Props {
  readonly path: string
  readonly acl: readonly AclEntry[]
  readonly aversion: number
  /** With true where it was saved. */
  readonly onEnd: (isSaved: boolean) => void
  /** Loads the ACL again, because another client has changed it. */
  readonly onConflict: () => Promise<void>
}

/** Edits an ACL in words. Saving replaces only the version that is shown. */
export default function AclEditor({ path, acl, aversion, onEnd, onConflict }: Props) {
  const [entries, setEntries] = useState<readonly AclEntry[]>(acl)
  const [error, setError] = useState<unknown>(undefined)
  const identities = who.value?.identities ?? []
  const warnings = warningsAbout(entries, acl, identities)
  const save = async (event: Event): Promise<void> => {
    event.preventDefault()
    try {
      await change('PUT', '/acl', { path, version: aversion }, { acl: entries })
      announcement.value = `The access to ${path} is saved`
      onEnd(true)
    } catch (fault) {
      setError(fault)
      if (!(fault instanceof ApiError) || fault.code !== 'badVersion') return
      await onConflict()
      setError(
        'Another client has changed the access. The list above shows it as it is now; saving again replaces it.',
      )
    }
  }
  const replace = (at: number, entry: AclEntry): void => setEntries(entries.with(at, entry))
  return (
    <form class="acl-editor" aria-label="Access" onSubmit={(event) => void save(event)}>
      {entries.map((entry, at) => (
        <EntryFields
          key={at}
          entry={entry}
          onChange={(next) => replace(at, next)}
          onRemove={() => setEntries(entries.toSpliced(at, 1))}
        />
      ))}
      <Problem error={error} />
      {warnings.map((warning) => (
        <p key={warning} class="notice" role="status">
          {warning}
        </p>
      ))}
      <div class="line">
        <button
          type="button"
          onClick={() => setEntries([...entries, { scheme: 'digest', id: '', perms: 'r' }])}
        >
          Add entry
        </button>
        <span class="grow" />
        <button class="primary" disabled={entries.length === 0}>
          Save access
        </button>
        <button type="button" onClick={() => onEnd(false)}>
          Cancel
        </button>
      </div>
    </form>
  )
}

interface EntryProps {
  readonly entry: AclEntry
  readonly onChange: (entry: AclEntry) => void
  readonly onRemove: () => void
}

function EntryFields({ entry, onChange, onRemove }: EntryProps) {
  const { scheme, id, perms } = entry
  const isKnown = scheme in schemes
  const has = (letter: string): boolean => perms.includes(letter)
  const toggle = (letter: Letter): void =>
    onChange({
      ...entry,
      perms: letters.filter((each) => has(each) !== (each === letter)).join(''),
    })
  const isNobody = id.trim() === '' && scheme !== 'auth'
  return (
    <fieldset>
      <legend>
        <strong>{scheme === 'auth' ? 'You' : isNobody ? 'Somebody' : identityText(entry)}</strong>{' '}
        may {permsText(perms)}
      </legend>
      <div class="line">
        <select
          aria-label="Who"
          value={isKnown ? scheme : 'other'}
          onChange={(event) => {
            const to = event.currentTarget.value
            if (to === 'other') onChange({ ...entry, scheme: '', id: '' })
            else onChange({ ...entry, scheme: to, id: to === 'world' ? 'anyone' : '' })
          }}
        >
          {Object.entries(schemes).map(([name, text]) => (
            <option key={name} value={name}>
              {text}
            </option>
          ))}
          <option value="other">something else</option>
        </select>
        {scheme === 'digest' ? (
          <UserFields id={id} onChange={(next) => onChange({ ...entry, id: next })} />
        ) : (
          <>
            {!isKnown && (
              <input
                aria-label="Scheme"
                required
                value={scheme}
                onInput={(event) => onChange({ ...entry, scheme: event.currentTarget.value })}
              />
            )}
            {scheme !== 'world' && scheme !== 'auth' && (
              <input
                aria-label="Identity"
                class="grow"
                required
                placeholder={hints[scheme]}
                value={id}
                onInput={(event) => onChange({ ...entry, id: event.currentTarget.value })}
              />
            )}
          </>
        )}
        {(scheme === 'world' || scheme === 'auth') && <span class="grow" />}
        <button type="button" onClick={onRemove}>
          Remove
        </button>
      </div>
      <div class="line">
        {letters.map((letter) => (
          <label key={letter} class="check">
            <input type="checkbox" checked={has(letter)} onChange={() => toggle(letter)} />
            {letterText[letter]}
          </label>
        ))}
        <span class="line presets">
          {presets.map(([name, of]) => (
            <button
              key={name}
              type="button"
              class="chip"
              onClick={() => onChange({ ...entry, perms: of })}
            >
              {name}
            </button>
          ))}
        </span>
      </div>
    </fieldset>
  )
}

/** A user with a known password, or with a hash from before. */
function UserFields({
  id,
  onChange,
}: {
  readonly id: string
  readonly onChange: (id: string) => void
}) {
  const [user, setUser] = useState(userOf(id))
  const [password, setPassword] = useState('')
  const hasHash = id.includes(':')
  return (
    <>
      <input
        aria-label="User"
        required
        autocomplete="off"
        placeholder="user"
        value={user}
        onInput={(event) => {
          const name = event.currentTarget.value.replace(/:/g, '')
          setUser(name)
          // The hash is of the name, too.
          onChange(password === '' ? '' : digestIdentity(name, password))
        }}
      />
      <input
        aria-label="Password of the user"
        type="password"
        autocomplete="new-password"
        required={!hasHash}
        placeholder={hasHash && password === '' ? 'password as it is' : 'password'}
        value={password}
        onInput={(event) => {
          setPassword(event.currentTarget.value)
          onChange(digestIdentity(user, event.currentTarget.value))
        }}
      />
    </>
  )
}
