// Exits with 0 when the server in this container answers its probe: /livez, or the one given.
const path = process.argv[2] ?? '/livez'
const port = process.env.ZABRA_ADMIN_SERVER_PORT ?? '8080'
const timeoutMs = 4000

try {
  const url = `http://127.0.0.1:${port}${path}`
  const response = await fetch(url, { signal: AbortSignal.timeout(timeoutMs) })
  console.log((await response.text()).trim())
  process.exitCode = response.ok ? 0 : 1
} catch (error) {
  console.log(error.cause?.message ?? error.message)
  process.exitCode = 1
}
