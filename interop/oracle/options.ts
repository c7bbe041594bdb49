import { parseArgs } from 'node:util'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ApacheRelease } from '../src/apache.ts'
import type { ZxidMode } from './play/transcript.ts'
import { profiles, type Profile } from './program/program.ts'

export const usage = `Plays random programs of raw requests on two servers and compares what comes back.

  npm run test:oracle -- [options]

  --seeds A..B        programs to play (1..100); a seed always makes the same program
  --fixed             the hand-written programs instead: what random ones must not do
  --replay FILE       a program saved by an earlier run instead
  --ref-release 3.8|3.9   the reference: Apache ZooKeeper of this release (3.9)
  --candidate WHO     zabra (default), apache-3.8, apache-3.9, or a command that takes a zoo.cfg;
                      also from CANDIDATE_CMD
  --ref, --cand HOST:PORT[,HOST:PORT]   servers that run already, instead of starting some
  --profile NAME      only one of ${profiles.join(', ')}
  --steps N           length of a program (40 to 120)
  --zxid rank|exact|loose   rank: zxids compare by their order; exact: by distance from the first;
                      loose: as rank, and that of a failed request is not compared
  --exact-order       compare the order of children too
  --ensemble N        N servers a side, session i on server i mod N
  --flw               four-letter words as steps
  --cfg 'k=v;k=v'     more lines of zoo.cfg, for both sides
  --no-restart        no restarts; adds the stand-alone check request
  --no-quota          no quota profile
  --no-shrink         show a divergence as it was found
  --stop-at N         end after N programs that diverge
  --stats             print how often the reference said what
  --dump              print every transcript
  --verbose           name the programs that agree, too
  --out DIR           where diverging programs are saved
`

export interface Options {
  readonly seeds: { readonly from: number; readonly to: number }
  readonly fixed: boolean
  readonly replay: string | undefined
  readonly refRelease: ApacheRelease
  readonly candidate: string
  readonly refAddresses: string | undefined
  readonly candAddresses: string | undefined
  readonly profile: Profile | undefined
  readonly steps: number | undefined
  readonly zxid: ZxidMode
  readonly exactOrder: boolean
  readonly ensemble: number
  readonly fourLetterWords: boolean
  readonly cfg: readonly string[]
  readonly restart: boolean
  readonly quota: boolean
  readonly shrink: boolean
  readonly stopAt: number
  readonly stats: boolean
  readonly dump: boolean
  readonly verbose: boolean
  readonly outDir: string
}

/** Throws an Error whose message is for the user. */
export function parseOptions(args: readonly string[]): Options | 'help' {
  const flag = { type: 'boolean', default: false } as const
  const text = { type: 'string' } as const
  const { values } = parseArgs({
    args: [...args],
    options: {
      help: flag,
      seeds: { ...text, default: '1..100' },
      fixed: flag,
      replay: text,
      'ref-release': { ...text, default: '3.9' },
      candidate: { ...text, default: process.env['CANDIDATE_CMD'] ?? 'zabra' },
      ref: text,
      cand: text,
      profile: text,
      steps: text,
      zxid: { ...text, default: 'rank' },
      'exact-order': flag,
      ensemble: { ...text, default: '1' },
      flw: flag,
      cfg: { ...text, multiple: true, default: [] },
      'no-restart': flag,
      'no-quota': flag,
      'no-shrink': flag,
      'stop-at': text,
      stats: flag,
      dump: flag,
      verbose: flag,
      out: { ...text, default: join(tmpdir(), 'zabra-oracle') },
    },
  })
  if (values.help) return 'help'
  if ((values.ref === undefined) !== (values.cand === undefined)) {
    throw new Error('--ref and --cand go together')
  }
  return {
    seeds: parseSeeds(values.seeds),
    fixed: values.fixed,
    replay: values.replay,
    refRelease: oneOf('--ref-release', ['3.8', '3.9'], values['ref-release']),
    candidate: values.candidate,
    refAddresses: values.ref,
    candAddresses: values.cand,
    profile:
      values.profile === undefined ? undefined : oneOf('--profile', profiles, values.profile),
    steps: values.steps === undefined ? undefined : positive('--steps', values.steps),
    zxid: oneOf('--zxid', ['rank', 'exact', 'loose'], values.zxid),
    exactOrder: values['exact-order'],
    ensemble: positive('--ensemble', values.ensemble),
    fourLetterWords: values.flw,
    cfg: values.cfg.flatMap((lines) => lines.split(';')),
    restart: !values['no-restart'] && values.ref === undefined,
    quota: !values['no-quota'],
    shrink: !values['no-shrink'],
    stopAt: values['stop-at'] === undefined ? Infinity : positive('--stop-at', values['stop-at']),
    stats: values.stats,
    dump: values.dump,
    verbose: values.verbose,
    outDir: values.out,
  }
}

function parseSeeds(text: string): { from: number; to: number } {
  const match = /^(\d+)(?:\.\.(\d+))?$/.exec(text)
  if (match === null) throw new Error(`--seeds wants A..B, not ${text}`)
  const from = Number(match[1])
  return { from, to: Number(match[2] ?? from) }
}

function oneOf<const T extends string>(name: string, choices: readonly T[], value: string): T {
  const choice = choices.find((candidate) => candidate === value)
  if (choice === undefined)
    throw new Error(`${name} wants one of ${choices.join(', ')}, not ${value}`)
  return choice
}

function positive(name: string, value: string): number {
  const number = Number(value)
  if (!Number.isInteger(number) || number < 1)
    throw new Error(`${name} wants a number, not ${value}`)
  return number
}
