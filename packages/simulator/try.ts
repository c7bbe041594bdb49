import { run } from './src/run.ts'
const [a,b]=(process.argv[2]??'1..20').split('..').map(Number)
let bad=0
const t=Date.now()
for(let s=a;s<=b!;s++){ const r=await run({seed:s}); if(r.violations.length){bad++; console.log('SEED',s,r.violations.length,r.violations.slice(0,3).map(v=>v.slice(0,600)))} else if(process.argv[3]) console.log(s,r.trace.length,r.fingerprint)}
console.log('bad',bad,'ms',Date.now()-t)
