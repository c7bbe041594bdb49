import { join } from 'node:path'
import { nonrootId } from './base-systems.ts'
import type { Image } from './image.ts'
import { Network } from './network.ts'
import { Pod } from './pod.ts'
import { expectGoodVisit, Visiting } from './visiting.ts'

/** Runs one server like `docker run --read-only --cap-drop ALL zabra`; returns facts about it. */
export async function tryContainer(image: Image, folder: string): Promise<string> {
  const network = await Network.start(join(folder, 'container-hosts'))
  const options = { image, env: {}, dataDir: join(folder, 'container-data') }
  let pod = await Pod.start(network, options)
  try {
    await pod.until('healthy', () => pod.exec(image.healthcheck))
    await pod.until('ready', () => pod.exec([...image.healthcheck, '/readyz']))
    expectUnprivileged(pod.status())
    await expectReadOnly(pod)

    const visiting = await Visiting.start(network, `${pod.ip}:2181`)
    expectGoodVisit(await visiting.end())

    // A new container has the same process id as the old one, which left its lock file.
    await pod.stop('SIGKILL')
    pod = await Pod.start(network, options)
    await pod.until('healthy after SIGKILL', () => pod.exec(image.healthcheck))

    const beganAt = performance.now()
    const code = await pod.stop()
    if (code !== 0) throw new Error(`exit code ${code} after SIGTERM\n${pod.output}`)
    const stopMs = Math.round(performance.now() - beganAt)
    return `user ${nonrootId}, no capability, read-only, healthy, survives SIGKILL, stops in ${stopMs} ms`
  } finally {
    await pod.stop('SIGKILL')
    await network.stop()
  }
}

function expectUnprivileged(status: string): void {
  const expected = [
    `Uid:\t${nonrootId}\t${nonrootId}\t${nonrootId}\t${nonrootId}`,
    'CapEff:\t0000000000000000',
    'NoNewPrivs:\t1',
  ]
  for (const line of expected)
    if (!status.includes(line)) throw new Error(`the process is not as ${line}:\n${status}`)
}

async function expectReadOnly(pod: Pod): Promise<void> {
  const script = "require('fs').writeFileSync('/opt/zabra/x', '')"
  const { ok, output } = await pod.exec(['/nodejs/bin/node', '-e', script])
  if (ok || !output.includes('EROFS')) throw new Error(`the image can be written to: ${output}`)
}
