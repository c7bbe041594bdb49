import { useState } from 'preact/hooks'
import { credentials, isSigningIn, roleOfAll } from './state.ts'

const ways = { password: 'Password', token: 'Token', certificate: 'Certificate' } as const
type Way = keyof typeof ways

export function SignIn({ reason }: { readonly reason?: string }) {
  const [way, setWay] = useState<Way>(wayOf(credentials.value?.header))
  const [user, setUser] = useState('')
  const [secret, setSecret] = useState('')
  const mayContinue =
    reason !== undefined && credentials.value !== undefined && roleOfAll.value !== 'none'
  const submit = (event: Event): void => {
    event.preventDefault()
    credentials.value = credentialsOf(way, user, secret)
    isSigningIn.value = false
  }
  const choose = (to: Way): void => {
    setWay(to)
    setSecret('')
  }
  return (
    <form class="sign-in" onSubmit={submit}>
      {reason !== undefined && <p role="alert">{reason}.</p>}
      <div class="choices" role="group" aria-label="Sign in with">
        {(Object.keys(ways) as Way[]).map((each) => (
          <button key={each} type="button" aria-pressed={each === way} onClick={() => choose(each)}>
            {ways[each]}
          </button>
        ))}
      </div>
      {way === 'password' && (
        <label>
          User
          <input
            autocomplete="username"
            required
            value={user}
            onInput={(event) => setUser(event.currentTarget.value)}
          />
        </label>
      )}
      {way !== 'certificate' && (
        <label>
          {ways[way]}
          <input
            type="password"
            autocomplete={way === 'password' ? 'current-password' : 'off'}
            required={way === 'token'}
            value={secret}
            onInput={(event) => setSecret(event.currentTarget.value)}
          />
        </label>
      )}
      <p class="muted">{hints[way]}</p>
      <div class="line">
        <button class="primary">Sign in</button>
        {mayContinue && (
          <button type="button" onClick={() => (credentials.value = undefined)}>
            Continue without signing in
          </button>
        )}
      </div>
    </form>
  )
}

/** After a failed sign-in, the form keeps the chosen way. */
function wayOf(header: string | undefined): Way {
  if (header === 'x509') return 'certificate'
  return header?.startsWith('Bearer ') === true ? 'token' : 'password'
}

const hints: Readonly<Record<Way, string>> = {
  password: 'A user of the scheme digest. The page keeps the password until you close it.',
  token: 'A token from the file api.tokenFile. The page keeps it until you close it.',
  certificate:
    'The client certificate of this browser. It needs HTTPS, and a server with admin.wantClientAuth or admin.needClientAuth.',
}

function credentialsOf(way: Way, user: string, secret: string): { user: string; header: string } {
  switch (way) {
    case 'password': {
      const bytes = new TextEncoder().encode(`${user}:${secret}`)
      return { user, header: `Basic ${btoa(String.fromCharCode(...bytes))}` }
    }
    case 'token':
      return { user: 'token', header: `Bearer ${secret.trim()}` }
    case 'certificate':
      return { user: 'certificate', header: 'x509' }
  }
}
