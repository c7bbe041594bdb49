import type { Received, Told, Transcript } from './play/transcript.ts'
import type { Program, Request, Step } from './program/program.ts'

/** Counts the answers of the reference: each request with each error, and each event. */
export class Coverage {
  readonly #counts = new Map<string, number>()
  #skipped = 0

  get skippedSteps(): number {
    return this.#skipped
  }

  add(program: Program, transcript: Transcript): void {
    for (const [at, step] of program.steps.entries()) {
      const result = transcript[at]
      if (result === undefined) return
      if (result.skipped === true) this.#skipped++
      for (const [index, list] of Object.entries(result.received)) {
        const requests = 'session' in step && step.session === Number(index) ? requestsOf(step) : []
        this.#addList(step, requests, list)
      }
    }
  }

  lines(): string[] {
    const entries = [...this.#counts].toSorted(([a], [b]) => (a < b ? -1 : 1))
    return entries.map(([what, count]) => `${String(count).padStart(7)}  ${what}`)
  }

  #addList(step: Step, requests: readonly Request[], list: readonly Received[]): void {
    let answered = 0
    for (const received of list) {
      if (received['xid'] === -1) this.#hit(`event ${told(received['type'])}`)
      else if (received['xid'] !== undefined) {
        const request = requests[answered++]
        if (request !== undefined) this.#addReply(request, received)
      } else this.#hit(`${stepLabel(step)}: ${outcomeOf(received)}`)
    }
  }

  #addReply(request: Request, reply: Received): void {
    const spoiled = request.cut === undefined ? '' : 'cut '
    this.#hit(`${spoiled}${request.op}: ${told(reply['err'])}`)
    if (reply['undecoded'] !== undefined) this.#hit(`${request.op}: undecoded`)
    const results = reply['results']
    if (!Array.isArray(results)) return
    for (const result of results as readonly Received[]) {
      this.#hit(`multi result: ${told(result['error'] ?? result['type'] ?? 'end')}`)
    }
  }

  #hit(what: string): void {
    this.#counts.set(what, (this.#counts.get(what) ?? 0) + 1)
  }
}

function outcomeOf(received: Received): string {
  const { connected, connect } = received
  if (typeof connected === 'object' && connected !== null && 'session' in connected) {
    return connected.session === 0 ? 'refused' : 'opened'
  }
  if (connect !== undefined) return told(connect)
  return Object.keys(received)[0] ?? 'nothing'
}

function told(value: Told): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? 'nothing')
}

function stepLabel(step: Step): string {
  return step.do === 'connect' ? `connect ${step.how}` : step.do
}

function requestsOf(step: Step): readonly Request[] {
  if (step.do === 'op') return [step.request]
  return step.do === 'burst' ? step.requests : []
}
