import { useState } from 'preact/hooks'
import { credentials, isSigningIn } from './state.ts'

const ways = { password: 'Password', token: 'Token', certificate: 'Certificate' } as const
type Way = keyof typeof ways

export function SignIn({ reason }: { readonly reason?: string }) {
  const [way, setWay] = useState<Way>('password')
  const [user, setUser] = useState('')
  const [secret, setSecret] = useState('')
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
      {reason !== undefined && <p>{reason}</p>}
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
      <button class="primary">Sign in</button>
    </form>
  )
}

const hints: Readonly<Record<Way, string>> = {
  password: 'An identity of the scheme digest. It is kept until this page is closed.',
  token: 'A token of the file api.tokenFile. It is kept until this page is closed.',
  certificate:
    'The client certificate of this browser. It needs a page that was loaded over HTTPS with it.',
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
