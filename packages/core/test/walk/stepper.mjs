// Steps through the main thread with V8's debugger, and notes which functions of core it enters.
// This is a worker, and plain JavaScript because workers do not load TypeScript.
import { Session } from 'node:inspector'
import { parentPort } from 'node:worker_threads'

const source = '/packages/core/src/'
/** This file plays the part of the host. */
const memoryDisk = 'storage/disk/memory-disk.ts'

const port = parentPort
const session = new Session()
/** The addresses of scripts, by their ids. */
const scripts = new Map()
/** @type {import('./main.ts').Entry[]} */
const entries = []
/** The functions on the stack at the last step, outermost first. */
let stack = []

function fileOf({ location }) {
  const url = scripts.get(location.scriptId) ?? ''
  const at = url.indexOf(source)
  const file = at === -1 ? undefined : url.slice(at + source.length)
  return file === memoryDisk ? undefined : file
}

/** Includes the place of the definition, which tells functions without a name apart. */
function identityOf({ functionName, functionLocation: at }) {
  return `${functionName} ${at?.scriptId}:${at?.lineNumber}:${at?.columnNumber}`
}

function nameOf({ functionName, this: { className } }) {
  if (functionName === '<instance_members_initializer>') return `${className} (fields)`
  if (functionName === className) return `new ${className}`
  const name = functionName === '' ? '(callback)' : functionName
  return className === undefined || className === 'Object' ? name : `${className}.${name}`
}

function paused({ params: { callFrames } }) {
  const [top] = callFrames
  const depth = callFrames.length
  const isEntered = stack.length < depth || stack[depth - 1] !== identityOf(top)
  stack = callFrames.map(identityOf).toReversed()
  const file = fileOf(top)
  // The loader of TypeScript gives functions their names by calls of `__name`.
  if (isEntered && file !== undefined && top.functionName !== '__name') {
    const isFromHost = callFrames.slice(1).every((frame) => fileOf(frame) === undefined)
    entries.push({ file, name: nameOf(top), isFromHost })
  }
  if (top.functionName === 'endOfWalk') {
    session.post('Debugger.disable', () => port.postMessage(entries))
  } else {
    session.post('Debugger.stepInto')
  }
}

// An open session does not keep this thread alive.
port.ref()
session.connectToMainThread()
session.on('Debugger.scriptParsed', ({ params }) => scripts.set(params.scriptId, params.url))
session.on('Debugger.paused', paused)
session.post('Debugger.enable')
session.post('Debugger.pause', () => port.postMessage('stepping'))
