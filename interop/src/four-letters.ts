import { connect } from 'node:net'

/** Sends a four-letter word; returns the empty string if there is no answer. */
export function askFourLetters(host: string, port: number, word: string): Promise<string> {
  return new Promise((resolve) => {
    let answer = ''
    const socket = connect({ host, port }, () => socket.write(word))
    socket.on('data', (chunk) => (answer += chunk.toString()))
    socket.on('error', () => {})
    socket.on('close', () => resolve(answer))
    socket.setTimeout(3000, () => socket.destroy())
  })
}
