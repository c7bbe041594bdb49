import { run } from './src/run.ts'
const r = await run({ seed: Number(process.argv[2]) })
for (const l of r.trace) console.log(l.slice(0, 300))
console.log([...r.counts].sort().map(([k, v]) => `${k}: ${v}`).join('\n'))
