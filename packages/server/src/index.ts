/**
 * A ZooKeeper server, to run or to embed.
 *
 *     const server = await startServer()
 *     // ... connect any ZooKeeper client to server.connectString ...
 *     await server.stop()
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
