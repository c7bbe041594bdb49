import { useEffect, useState } from 'preact/hooks'
import { change, get } from './api.ts'
import { Problem } from './dialog.tsx'
import { bytesText, countText } from './format.ts'
import { announcement, mayWrite } from './state.ts'

interface Limits {
  readonly count: number
  readonly bytes: number
  readonly countHardLimit: number
  readonly byteHardLimit: number
}
interface Quota {
  readonly limits: Limits | null
  readonly used: { readonly count: number; readonly bytes: number } | null
  readonly isEnforced: boolean
}

const none = -1
const fields: readonly (readonly [keyof Limits, string])[] = [
  ['count', 'Znodes, with a warning'],
  ['countHardLimit', 'Znodes, refused above'],
  ['bytes', 'Bytes, with a warning'],
  ['byteHardLimit', 'Bytes, refused above'],
]

/** Limits on the znodes and bytes of a subtree, and their use. */
export function QuotaView({ path }: { readonly path: string }) {
  const [quota, setQuota] = useState<Quota | undefined>(undefined)
  const [isEdited, setEdited] = useState(false)
  const [error, setError] = useState<unknown>(undefined)
  useEffect(() => {
    get<Quota>('/quota', { path }).then(
      (found) => {
        setQuota(found)
        setError(undefined)
      },
      (fault: unknown) => setError(fault),
    )
  }, [path])
  const set = async (limits: Limits | null): Promise<void> => {
    try {
      const found =
        limits === null
          ? await change<Quota>('DELETE', '/quota', { path })
          : await change<Quota>('PUT', '/quota', { path }, limits)
      setQuota(found)
      setEdited(false)
      setError(undefined)
      announcement.value = `The quota of ${path} is ${limits === null ? 'removed' : 'set'}`
    } catch (fault) {
      setError(fault)
    }
  }
  return (
    <section class="quota" aria-label="Quota">
      <div class="line">
        <h3 class="grow">Quota</h3>
        {mayWrite.value && quota !== undefined && !isEdited && (
          <>
            <button type="button" onClick={() => setEdited(true)}>
              {quota.limits === null ? 'Set quota' : 'Change quota'}
            </button>
            {quota.limits !== null && (
              <button type="button" onClick={() => void set(null)}>
                Remove quota
              </button>
            )}
          </>
        )}
      </div>
      <Problem error={error} />
      {quota !== undefined && !isEdited && <Use quota={quota} />}
      {isEdited && (
        <LimitsForm
          limits={quota?.limits ?? undefined}
          onSave={(limits) => void set(limits)}
          onCancel={() => setEdited(false)}
        />
      )}
    </section>
  )
}

function Use({ quota: { limits, used, isEnforced } }: { readonly quota: Quota }) {
  if (limits === null) return <p class="muted">None.</p>
  const hasHard = limits.countHardLimit !== none || limits.byteHardLimit !== none
  return (
    <>
      <Meter
        name="Znodes"
        used={used?.count}
        soft={limits.count}
        hard={limits.countHardLimit}
        text={countText}
      />
      <Meter
        name="Bytes"
        used={used?.bytes}
        soft={limits.bytes}
        hard={limits.byteHardLimit}
        text={bytesText}
      />
      {hasHard && !isEnforced && (
        <p class="notice">
          This server does not enforce hard limits: it only warns (enforceQuota is off).
        </p>
      )}
    </>
  )
}

interface MeterProps {
  readonly name: string
  readonly used: number | undefined
  readonly soft: number
  readonly hard: number
  readonly text: (value: number) => string
}

function Meter({ name, used, soft, hard, text }: MeterProps) {
  const limits = [soft, hard].filter((each) => each !== none)
  const highest = Math.max(...limits)
  const isOver = used !== undefined && limits.some((each) => used > each)
  const parts = [
    used === undefined ? 'not counted yet' : `${text(used)} used`,
    ...(soft === none ? [] : [`a warning above ${text(soft)}`]),
    ...(hard === none ? [] : [`refused above ${text(hard)}`]),
    ...(limits.length === 0 ? ['no limit'] : []),
  ]
  return (
    <p class="quota-line">
      <strong>{name}</strong> <span class={isOver ? 'warning' : 'muted'}>{parts.join(', ')}</span>
      {used !== undefined && limits.length > 0 && (
        <meter
          aria-label={`${name} used`}
          min={0}
          max={highest}
          high={Math.min(...limits)}
          value={Math.min(used, highest)}
        />
      )}
    </p>
  )
}

interface FormProps {
  readonly limits: Limits | undefined
  readonly onSave: (limits: Limits) => void
  readonly onCancel: () => void
}

function LimitsForm({ limits, onSave, onCancel }: FormProps) {
  const [values, setValues] = useState<Readonly<Record<keyof Limits, string>>>(() => {
    const shown = (name: keyof Limits): string => {
      const value = limits?.[name] ?? none
      return value === none ? '' : String(value)
    }
    return {
      count: shown('count'),
      bytes: shown('bytes'),
      countHardLimit: shown('countHardLimit'),
      byteHardLimit: shown('byteHardLimit'),
    }
  })
  const number = (name: keyof Limits): number => (values[name] === '' ? none : Number(values[name]))
  const isEmpty = fields.every(([name]) => values[name] === '')
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        onSave({
          count: number('count'),
          bytes: number('bytes'),
          countHardLimit: number('countHardLimit'),
          byteHardLimit: number('byteHardLimit'),
        })
      }}
    >
      <div class="quota-fields">
        {fields.map(([name, text]) => (
          <label key={name}>
            {text}
            <input
              type="number"
              min="0"
              step="1"
              placeholder="no limit"
              value={values[name]}
              onInput={(event) => setValues({ ...values, [name]: event.currentTarget.value })}
            />
          </label>
        ))}
      </div>
      <p class="muted">A znode counts itself and all below it. Quotas do not nest.</p>
      <div class="line">
        <button class="primary" disabled={isEmpty}>
          Save quota
        </button>
        <button type="button" onClick={onCancel}>
          Cancel
        </button>
      </div>
    </form>
  )
}
