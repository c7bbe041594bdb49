import type { Apache } from '../src/apache.ts'
import type { Pki } from './pki.ts'
export async function compareAudits(_a: Apache, _p: Pki): Promise<string[]> { return [] }
