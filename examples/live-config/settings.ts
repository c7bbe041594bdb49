import { json, type StandardSchema } from '@zabra/client'

/** Settings that can change while the program runs. */
export interface Settings {
  readonly greeting: string
  /** Longer names are truncated. */
  readonly nameLengthMax: number
}

export const defaults: Settings = { greeting: 'Hello', nameLengthMax: 20 }

/** Written by hand; a schema of zod, valibot or arktype works in the same place. */
const schema: StandardSchema<Settings> = {
  '~standard': {
    version: 1,
    vendor: 'example',
    validate(value) {
      const { greeting, nameLengthMax } = (value ?? {}) as Partial<Settings>
      if (typeof greeting !== 'string' || greeting === '')
        return { issues: [{ message: 'greeting must be a text', path: ['greeting'] }] }
      if (!Number.isInteger(nameLengthMax) || Number(nameLengthMax) < 1)
        return {
          issues: [{ message: 'nameLengthMax must be at least 1', path: ['nameLengthMax'] }],
        }
      return { value: { greeting, nameLengthMax: Number(nameLengthMax) } }
    },
  },
}

export const settingsCodec = json(schema)
