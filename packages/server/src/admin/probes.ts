import type { ServerView } from '../server-view.ts'

/** Whether clients should be sent here: it serves them, and can write what they change. */
export function readiness(view: ServerView): { status: number; text: string } {
  if (view.isStopping) return { status: 503, text: 'the server is stopping\n' }
  if (!view.peer.isServing) return { status: 503, text: 'there is no leader\n' }
  if (view.peer.isReadOnly) return { status: 503, text: 'there is no quorum: reads only\n' }
  if (!view.peer.canWrite) {
    return { status: 503, text: 'writes are suspended: there is no room on the disk\n' }
  }
  return { status: 200, text: 'ok\n' }
}
