import { addauth, getAcl, setAcl, whoami } from './acl.ts'
import { config, reconfig } from './members.ts'
import { delquota, listquota, setquota } from './quota.ts'
import { get, getAllChildrenNumber, getEphemerals, ls, stat, sync } from './read.ts'
import { close, connect, exit, history, quit, redo, version } from './session.ts'
import { addWatch, printwatches, removewatches } from './watch.ts'
import { create, deleteall, remove, set } from './write.ts'
import type { ZkCommand } from './zk-command.ts'

/** Every command of zkCli.sh 3.9, and `exit`. */
export const zkCommands: Readonly<Record<string, ZkCommand>> = {
  addWatch,
  addauth,
  close,
  config,
  connect,
  create,
  delete: remove,
  deleteall,
  delquota,
  exit,
  get,
  getAcl,
  getAllChildrenNumber,
  getEphemerals,
  history,
  listquota,
  ls,
  printwatches,
  quit,
  reconfig,
  redo,
  removewatches,
  set,
  setAcl,
  setquota,
  stat,
  sync,
  version,
  whoami,
}
