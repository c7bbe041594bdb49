import { setTimeout as delay } from 'node:timers/promises'
import { javaCommand } from '../../clients/java/prepare.ts'
import { Program } from '../../clients/program.ts'

const answerMsMax = 150_000

/**
 * `Ledger.java` in a separate process: a producer that records acknowledgements, and a consumer
 * that checks them.
 */
export class Ledger {
  private readonly program: Program

  constructor(classPath: string, bootstrap: string, topic: string) {
    this.program = new Program([...javaCommand([classPath], 'Ledger'), bootstrap, topic])
  }

  /** Waits until this many more messages are acknowledged. */
  async untilMore(count: number, timeoutMs: number): Promise<void> {
    const deadline = Date.now() + timeoutMs
    const before = (await this.ask('count')).number('acknowledged')
    for (;;) {
      const answer = await this.ask('count')
      if (answer.number('acknowledged') - before >= count) return
      if (Date.now() > deadline) throw new Error(`messages do not get on: ${answer.line}`)
      await delay(100)
    }
  }

  /** Stops producing; returns how many messages were acknowledged. */
  async stop(): Promise<number> {
    const answer = await this.ask('stop')
    if (answer.number('refused') > 0) throw new Error(answer.line)
    return answer.number('acknowledged')
  }

  /** Reads everything; returns how many messages there are. */
  async read(): Promise<number> {
    const answer = await this.ask('read')
    for (const fault of ['missing', 'repeated', 'disordered', 'foreign']) {
      if (answer.number(fault) > 0) throw new Error(answer.line)
    }
    return answer.number('total')
  }

  end(): Promise<void> {
    return this.program.end()
  }

  private async ask(order: string) {
    this.program.tell(order)
    const line = await this.program.nextLine(answerMsMax)
    if (line?.startsWith(`${order} `) !== true) {
      throw new Error(`the ledger said ${line ?? `nothing: ${this.program.ending}`}`)
    }
    const number = (name: string): number => {
      return Number(new RegExp(`\\b${name}=(\\d+)`).exec(line)?.[1])
    }
    return { line, number }
  }
}
