/** The structure of an answer without its values: one line per member. */
export function shapeOf(json: unknown, path = ''): string[] {
  if (Array.isArray(json)) {
    const lines = json.flatMap((item) => shapeOf(item, `${path}[]`))
    return lines.length > 0 ? [...new Set(lines)] : [`${path}[]`]
  }
  if (json !== null && typeof json === 'object') {
    const entries = Object.entries(json)
    if (entries.length === 0) return [`${path}{}`]
    const lines = entries.flatMap(([name, value]) => shapeOf(value, `${path}.${maskName(name)}`))
    return [...new Set(lines)]
  }
  return [`${path}: ${valueOf(path, json)}`]
}

/** Replaces member names that contain sessions, times or servers. */
function maskName(name: string): string {
  return /^\d+$/.test(name) ? '#' : name
}

/** The value itself if it matters and must be equal; otherwise its type. */
const telling =
  /\.(command|error|is_leader|leader_id|leader_ip|voting|zabstate|myid|sid|learner_type|read_only|server_state|synced_observers|tick_time|server_id|max_client_cnxns|peer_state|learners|synced_followers|synced_non_voting_followers|pending_syncs|quorum_size|observer_master_id|empty|zab_epoch)$/

function valueOf(path: string, value: unknown): string {
  return telling.test(path) || value === null ? JSON.stringify(value) : typeof value
}

/** The lines of a word that carry information, without numbers. */
export function shapeOfWord(word: string, answer: string): string[] {
  const lines = answer.trimEnd().split('\n')
  if (word === 'mntr') return lines.map((line) => line.split('\t')[0] ?? '').toSorted()
  return lines.map((line) =>
    line
      .replace(/^Zookeeper version.*/, 'Zookeeper version')
      .replace(/(dataDir|dataLogDir)=.*/, '$1=')
      .replace(/0x[0-9a-f]+/g, '#')
      .replace(/\d+(\.\d+)?/g, '#'),
  )
}
