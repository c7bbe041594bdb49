import type { ServerView } from '../view/server-view.ts'

/** Whether to send clients here: the server serves them, and can write their changes. */
export function readiness(view: ServerView): { status: number; text: string } {
  if (view.isStopping) return { status: 503, text: 'the server is stopping\n' }
  // Checked first: a member without disk space leaves its leader, and then has none.
  if (!view.peer.canWrite) {
    return { status: 503, text: 'writes are suspended: there is no room on the disk\n' }
  }
  if (!view.peer.isServing) return { status: 503, text: `${whyNotServing(view)}\n` }
  if (view.peer.isReadOnly) return { status: 503, text: 'there is no quorum: reads only\n' }
  return { status: 200, text: 'ok\n' }
}

function whyNotServing({ isRestoring, ensembleState }: ServerView): string {
  if (isRestoring) return 'a snapshot is being restored'
  return ensembleState === undefined || ensembleState === 'looking'
    ? 'there is no leader'
    : 'the server is catching up with its leader'
}
