// CommonJS: `require` of modules where this Node can, `import()` where it cannot.
const load = process.features.require_module
  ? async (name) => require(name)
  : (name) => import(name)

async function main(servers) {
  const { connect } = await load('@zabra/client')
  const client = await connect(servers)
  try {
    await client.ensure('/')
    if (!Array.isArray(await client.children('/'))) throw new Error('no children')
  } finally {
    await client.close()
  }
}

void main(process.argv[2]).then(() => console.log('all well'))
