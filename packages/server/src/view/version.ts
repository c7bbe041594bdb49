import { readFileSync } from 'node:fs'

const packageFile = new URL('../../package.json', import.meta.url)
const { version } = JSON.parse(readFileSync(packageFile, 'utf8')) as { version: string }

/** The ZooKeeper release whose behavior this server has, for tools that check versions. */
const compatibleWith = '3.9.5'
const builtOn = '2026-11-15 00:00 UTC'

/** The version as in `srvr`, `mntr` and wherever else ZooKeeper reports it. */
export const versionText = `${compatibleWith}-zabra-${version}, built on ${builtOn}`
