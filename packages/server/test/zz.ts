import { connect } from 'node:net'
import { startServer } from '../src/embedded.ts'
const server = await startServer({ config: { '4lw.commands.whitelist': '*', 'admin.enableServer': true, 'admin.serverPort': 0, 'admin.serverAddress': '127.0.0.1', 'zabra.dummy': '' } as never }).catch(async (e) => { console.log(String(e)); return startServer({ config: { '4lw.commands.whitelist': '*', 'admin.serverPort': 0, 'admin.enableServer': true } }) })
const t0 = performance.now()
const at = () => Math.round(performance.now() - t0)
const a = connect({ port: server.clientPort, allowHalfOpen: true }); a.write('ruok'); a.on('data', (d) => console.log('word', String(d), at())); a.on('close', () => console.log('word closed', at())); a.on('end', () => console.log('end', at()))
const b = connect({ port: server.clientPort }); b.write('stmk'); b.on('close', () => console.log('stmk closed', at()))
const c = connect({ port: server.clientPort }); c.write('ru'); c.on('close', () => console.log('ru closed', at()))
console.log(server.adminAddress)
if (server.adminAddress) { const u = new URL(server.adminAddress)
const h = connect({ port: Number(u.port), host: u.hostname }); h.write('POST /api/v1/nodes HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{')
const drip = setInterval(() => h.write(' '), 3000); h.on('data', (d) => console.log('http', String(d).slice(0, 80), at())); h.on('close', () => { console.log('http closed', at()); clearInterval(drip) }); h.on('error', () => {})
const g = connect({ port: Number(u.port), host: u.hostname }); g.write('GET /metrics HTTP/1.1\r\nHost: a\r\nX: ')
const d2 = setInterval(() => g.write('x'), 3000); g.on('close', () => { console.log('slow header closed', at()); clearInterval(d2) }); g.on('error', () => {}) ; setTimeout(() => { clearInterval(d2); clearInterval(drip); h.destroy(); g.destroy() }, 75000) }
setTimeout(async () => { await server.stop(); process.exit() }, 80000)
