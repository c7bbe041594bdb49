import { versionText } from '../view/version.ts'
import { schemaOf, type Route } from './route.ts'
import { object, text, type Schema } from './schema.ts'

export const apiRoot = '/api/v1'

const errorSchema: Schema = {
  type: 'object',
  properties: {
    error: {
      ...object({ code: text, message: text }, { path: text, node: { type: ['object', 'null'] } }),
      additionalProperties: true,
    },
  },
  required: ['error'],
}

/** The description of the API, generated from the table of its routes. */
export function openApi(routes: readonly Route[]): object {
  const paths: Record<string, Record<string, object>> = {}
  for (const route of routes) {
    const entry = (paths[`${apiRoot}${route.path}`] ??= {})
    entry[route.method.toLowerCase()] = operationOf(route)
  }
  return {
    openapi: '3.1.0',
    info: { title: 'zabra', version: versionText, license: { name: 'Apache-2.0' } },
    paths,
    components: {
      schemas: { Error: errorSchema },
      securitySchemes: {
        digest: {
          type: 'http',
          scheme: 'basic',
          description: 'User and password of the digest scheme of ZooKeeper',
        },
        token: { type: 'http', scheme: 'bearer', description: 'A token of api.tokenFile' },
        certificate: {
          type: 'mutualTLS',
          description: 'The certificate of the connection, with the header Authorization: x509',
        },
      },
    },
    security: [{}, { digest: [] }, { token: [] }, { certificate: [] }],
  }
}

function operationOf(route: Route): object {
  const { summary, role, parameters = {}, body, takesBytes = false, answer, errors = [] } = route
  const bytes = takesBytes ? { 'application/octet-stream': {} } : {}
  const isChange = route.method !== 'GET'
  return {
    summary,
    'x-role': role,
    parameters: Object.entries(parameters).map(([name, parameter]) => ({
      name,
      in: 'query',
      required: parameter.isRequired === true,
      description: parameter.description,
      schema: schemaOf(parameter),
    })),
    ...(body === undefined
      ? {}
      : {
          requestBody: {
            required: true,
            content: { 'application/json': { schema: body }, ...bytes },
          },
        }),
    responses: {
      200: {
        description: 'Success',
        content:
          typeof answer === 'string'
            ? { [answer]: {} }
            : { 'application/json': { schema: answer } },
      },
      ...Object.fromEntries(
        [400, 401, 403, ...(isChange ? [415] : []), ...errors, 503].map((status) => [
          status,
          {
            description: 'Refused',
            content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
          },
        ]),
      ),
    },
  }
}
