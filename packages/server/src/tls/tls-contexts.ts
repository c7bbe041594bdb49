import type { ServerConfig } from '../config/config.ts'
import type { EventLogger } from '../base/event-logger.ts'
import { StartError } from '../base/start-error.ts'
import { TlsConfigError } from './credentials.ts'
import { TlsContext } from './tls-context.ts'

/** The certificates of a server, for each of its uses of TLS. */
export interface TlsContexts {
  readonly clients: TlsContext | undefined
  readonly servers: TlsContext | undefined
  readonly administrators: TlsContext | undefined
}

/** Which uses of TLS a configuration asks for. */
export function tlsUses(config: ServerConfig): { readonly [Use in keyof TlsContexts]: boolean } {
  const { tls, quorumTls, adminTls, ensemble } = config
  return {
    clients: tls.port !== undefined || tls.portUnification,
    servers: ensemble !== undefined && (quorumTls.accepts || quorumTls.dials),
    administrators: adminTls.accepts && (config.admin.enabled || config.metrics.enabled),
  }
}

/** Reads keys and certificates; throws a StartError with the reason if they cannot be used. */
export function openTlsContexts(config: ServerConfig, logger: EventLogger): TlsContexts {
  const { tls, quorumTls, adminTls } = config
  const uses = tlsUses(config)
  const opened: TlsContext[] = []
  const open = (isOn: boolean, ...rest: ConstructorParameters<typeof TlsContext>) => {
    if (!isOn) return undefined
    const context = new TlsContext(...rest)
    opened.push(context)
    return context
  }
  try {
    return {
      clients: open(uses.clients, 'clients', tls.settings, tls.reload, logger),
      servers: open(uses.servers, 'servers', quorumTls.settings, quorumTls.reload, logger),
      administrators: open(
        uses.administrators,
        'administrators',
        adminTls.settings,
        quorumTls.reload,
        logger,
      ),
    }
  } catch (error) {
    for (const context of opened) context.stop()
    if (error instanceof TlsConfigError) throw new StartError(error.message, error)
    throw error
  }
}

export function everyContext({ clients, servers, administrators }: TlsContexts): TlsContext[] {
  return [clients, servers, administrators].filter((each) => each !== undefined)
}
