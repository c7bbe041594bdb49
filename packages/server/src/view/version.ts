import { readFileSync } from 'node:fs'

const packageFile = new URL('../../package.json', import.meta.url)
const { version } = JSON.parse(readFileSync(packageFile, 'utf8')) as { version: string }

/** The release whose behaviour this server has: what tools that look at versions go by. */
const compatibleWith = '3.9.5'
const builtOn = '2026-11-15 00:00 UTC'

/** As it stands in `srvr`, `mntr` and the other places where ZooKeeper tells its version. */
export const versionText = `${compatibleWith}-zabra-${version}, built on ${builtOn}`
