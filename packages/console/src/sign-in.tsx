import { useState } from 'preact/hooks'
import { credentials, isSigningIn } from './state.ts'

export function SignIn({ reason }: { readonly reason?: string }) {
  const [user, setUser] = useState('')
  const [password, setPassword] = useState('')
  const submit = (event: Event): void => {
    event.preventDefault()
    const bytes = new TextEncoder().encode(`${user}:${password}`)
    credentials.value = { user, header: `Basic ${btoa(String.fromCharCode(...bytes))}` }
    isSigningIn.value = false
  }
  return (
    <form class="sign-in" onSubmit={submit}>
      {reason !== undefined && <p>{reason}</p>}
      <label>
        User
        <input
          autocomplete="username"
          required
          value={user}
          onInput={(event) => setUser(event.currentTarget.value)}
        />
      </label>
      <label>
        Password
        <input
          type="password"
          autocomplete="current-password"
          value={password}
          onInput={(event) => setPassword(event.currentTarget.value)}
        />
      </label>
      <p class="muted">An identity of the scheme digest. It is kept until this page is closed.</p>
      <button class="primary">Sign in</button>
    </form>
  )
}
