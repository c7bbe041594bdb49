/** The paths that the clients of a trial use. */
export const places = {
  shared: '/shared',
  barriers: '/barriers',
  lives: '/lives',
  registers: ['/hot-0', '/hot-1', '/hot-2'],
} as const

export const lastingMs = 40_000
export const fleetingMs = 1500
