import type { Apache } from '../src/apache.ts'
import type { Pki } from './pki.ts'
export async function compareAcls(_a: Apache, _p: Pki): Promise<{ compared: number; differences: string[] }> { return { compared: 0, differences: [] } }
