import { run } from './src/run.ts'
const [a,b]=process.argv[2]!.split('..').map(Number)
for(let s=a!;s<=b!;s++){ const t=Date.now(); const r=await run({seed:s}); console.log(s, Date.now()-t,'ms conf',r.counts.get('linearizability: configurations'),'und',r.counts.get('linearizability: undecided trees'),'ops',r.counts.get('operations answered'), 'ev',r.counts.get('events'), r.violations.slice(0,2).map(v=>v.slice(0,300)))}
