/**
 * A ZooKeeper server for Node: as a process (`zabra server`), or inside a program:
 *
 *     const server = await startServer()
 *     // ... connect any ZooKeeper client to server.connectString ...
 *     await server.stop()
 *
 * By default an embedded server takes a free port on the loopback interface and keeps its data in
 * memory. `config` takes the settings of zoo.cfg by name, such as `dataDir` and `clientPort`.
 *
 * `@zabra/core` decides everything about znodes, sessions and consensus; this package connects it to
 * the machine. The parts:
 *
 * - `config/`: reads zoo.cfg, the environment and flags. `config/keys/` declares each key once;
 * - `running/`: builds the parts of a server from its configuration, starts and stops them;
 * - `net/`, `disk/`: sockets and turns of the event loop; files and directory locks;
 * - `tls/`, `auth/`, `audit/`: certificates, identities, the audit log;
 * - `admin/`, `api/`, `http/`: four-letter words, admin commands and metrics; the HTTP API of the
 *   console;
 * - `view/`: the running server as all of these see it.
 *
 * Begin with `running/running-server.ts`, then `running/assemble.ts`. docs/embedding.md is the guide.
 */
export { startServer, type StartOptions } from './embedded.ts'
export { RunningServer } from './running/running-server.ts'
export { runServer } from './main.ts'
export type { Logger } from './base/logger.ts'
export { flags, formatDiagnostic, loadConfig } from './config/config.ts'
export type { Diagnostic, Overrides, ServerConfig } from './config/config.ts'
export { checkTls, describeTlsReport, servedCertificates } from './tls/check-tls.ts'
export type { CertificateSummary, TlsUseReport } from './tls/check-tls.ts'
export { initTls, InitTlsError, tlsConfigLines } from './tls/issue/init-tls.ts'
export type { InitTlsOptions, IssuedFile } from './tls/issue/init-tls.ts'
export { explainConfig, type ExplainedLine } from './config/explain.ts'
export { DirectoryInUseError, lockDirectory, type DirectoryLock } from './disk/lock.ts'
export { fileChunks } from './disk/file-chunks.ts'
export { NodeDisk } from './disk/node-disk.ts'
export { zlibCompression } from './disk/zlib-compression.ts'
