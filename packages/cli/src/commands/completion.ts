import { defineCommand } from '../framework/command.ts'
import { UsageError } from '../framework/errors.ts'

const shells = ['bash', 'zsh', 'fish'] as const

export const command = defineCommand({
  offline: true,
  arguments: { shell: { kind: shells } },
  details:
    'Completes commands, options, contexts and paths. For paths it asks the server, and waits at most a second.',
  examples: [
    ['source <(zabra completion bash)', 'in ~/.bashrc'],
    ['source <(zabra completion zsh)', 'in ~/.zshrc, after compinit'],
    ['zabra completion fish | source', 'in ~/.config/fish/config.fish'],
  ],
  async run({ args, out }) {
    const { scripts } = await import('../completion/scripts.ts')
    const script = Object.hasOwn(scripts, args.shell)
      ? scripts[args.shell as keyof typeof scripts]
      : undefined
    if (script === undefined)
      throw new UsageError(
        `no completion for '${args.shell}'`,
        `there is one for ${shells.join(', ')}`,
      )
    out.write(script)
  },
})
