import { defineCommand } from '../framework/command.ts'
import { version } from '../version.ts'

export const command = defineCommand({
  offline: true,
  examples: [['zabra version --json', 'the versions of zabra and of Node as JSON']],
  async run({ out }) {
    if (out.json) await out.data({ zabra: version(), node: process.versions.node })
    else out.line(`zabra ${version()} (Node ${process.versions.node})`)
  },
})
