import { expect, test } from 'vitest'
import { isIgnored, parseDockerfile } from './dockerfile.ts'

test('the stages of a Dockerfile, with arguments, comments and continued lines', () => {
  const source = [
    '# a comment',
    'ARG NODE=24',
    'FROM node:${NODE}-slim AS build',
    'RUN one \\',
    '# between',
    ' && two',
    'FROM base',
    'COPY --from=build /a /b',
  ].join('\n')
  expect(parseDockerfile(source)).toEqual([
    {
      base: 'node:24-slim',
      name: 'build',
      instructions: [{ name: 'RUN', text: 'one  && two', line: 4 }],
    },
    {
      base: 'base',
      name: undefined,
      instructions: [{ name: 'COPY', text: '--from=build /a /b', line: 8 }],
    },
  ])
})

test('a .dockerignore leaves out folders at any depth, and takes exceptions back', () => {
  const rules = '**/node_modules\ndeploy\n!deploy/docker\n*.log\n'
  const ignored = (path: string): boolean => isIgnored(rules, path)
  expect(ignored('packages/a/node_modules/b/c.js')).toBe(true)
  expect(ignored('node_modules/b.js')).toBe(true)
  expect(ignored('deploy/compose/compose.yaml')).toBe(true)
  expect(ignored('deploy/docker/Dockerfile')).toBe(false)
  expect(ignored('a.log')).toBe(true)
  expect(ignored('src/a.log')).toBe(false)
})
