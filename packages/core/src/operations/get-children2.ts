import { listChildren } from './get-children.ts'

export const getChildren2 = listChildren(true)
