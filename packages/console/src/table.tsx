import type { ComponentChildren } from 'preact'

interface Props {
  /** The title of the table, for screen readers. */
  readonly label: string
  readonly columns: readonly string[]
  /** Of these, the columns of numbers. */
  readonly numbers?: readonly string[]
  readonly children: ComponentChildren
}

/** A table that scrolls by itself where it is wider than the page. */
export function Table({ label, columns, numbers = [], children }: Props) {
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={label}>
      <table>
        <thead>
          <tr>
            {columns.map((name) => (
              <th key={name} scope="col" class={numbers.includes(name) ? 'number' : undefined}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  )
}
