/**
 * The file that says through which proxies the server reaches nodes, etcd and other servers
 * (EgressSelectorConfiguration). Rules and texts are 1.24's, which reads every version alike; unknown fields are refused.
 *
 * ```yaml
 * kind: EgressSelectorConfiguration
 * egressSelections:
 *   - name: cluster
 *     connection:
 *       proxyProtocol: GRPC
 *       transport: { uds: { udsName: /run/konnectivity.sock } }
 * ```
 */
import { quoted } from '#apimachinery/errors/message-values.js';
import { decodeFields, type FieldTable, parseConfigText } from '#daemon/options/config-decode.js';
import { OptionsError } from '#daemon/options/option.js';

/** What a connection leads to: webhooks of other servers; the store; nodes, pods and Services. */
export type EgressType = 'controlplane' | 'etcd' | 'cluster';

export interface ProxyTls {
  /** Paths; without a bundle, the system's authorities. */
  readonly caBundle?: string;
  readonly clientCert?: string;
  readonly clientKey?: string;
}

export type EgressConnection =
  | { readonly protocol: 'Direct' }
  | { readonly protocol: 'HTTPConnect'; readonly transport: 'tcp'; readonly url: URL; readonly tls?: ProxyTls }
  | { readonly protocol: 'HTTPConnect' | 'GRPC'; readonly transport: 'uds'; readonly socket: string };

export type EgressConnections = ReadonlyMap<EgressType, EgressConnection>;

interface TransportFields {
  readonly tcp?: { readonly url?: string; readonly tlsConfig?: ProxyTls };
  readonly uds?: { readonly udsName?: string };
}

interface SelectionFields {
  readonly name?: string;
  readonly connection?: { readonly proxyProtocol?: string; readonly transport?: TransportFields };
}

const fields: FieldTable = {
  apiVersion: 'string',
  kind: 'string',
  egressSelections: {
    listOf: {
      fields: {
        name: 'string',
        connection: {
          fields: {
            proxyProtocol: 'string',
            transport: {
              fields: {
                tcp: {
                  fields: {
                    url: 'string',
                    tlsConfig: { fields: { caBundle: 'string', clientKey: 'string', clientCert: 'string' } },
                  },
                },
                uds: { fields: { udsName: 'string' } },
              },
            },
          },
        },
      },
    },
  },
};

const protocols = ['Direct', 'HTTPConnect', 'GRPC'];
const names: readonly string[] = ['cluster', 'controlplane', 'etcd'];
const path = 'service.connection';

/** `exists`: whether a file is there. Throws an OptionsError with all problems. */
export function parseEgressConfig(text: string, exists: (path: string) => boolean): EgressConnections {
  const errors: string[] = [];
  const file = decodeFields(fields, parseConfigText(text), errors);
  const kind = String(file['kind'] ?? '');
  if (kind !== 'EgressSelectorConfiguration') errors.push(`invalid service configuration object ${quoted(kind)}`);
  if (errors.length > 0) throw new OptionsError(errors);
  const selections = (file['egressSelections'] ?? []) as readonly SelectionFields[];
  const connections = selections.map(({ connection }) => connectionOf(connection, exists, errors));
  const result = new Map<EgressType, EgressConnection>();
  for (const [i, { name: given = '' }] of selections.entries()) {
    // `master` is the older name.
    const name = given === 'master' ? 'controlplane' : given.toLowerCase();
    const connection = connections[i];
    if (result.has(name as EgressType)) errors.push(`${path}[${i}]: Duplicate value: ${quoted(name)}`);
    else if (!names.includes(name)) errors.push(unsupported(path, name, names));
    else result.set(name as EgressType, connection ?? { protocol: 'Direct' });
  }
  if (errors.length > 0) throw new OptionsError(errors);
  return result;
}

/** Undefined after an error. */
function connectionOf(
  { proxyProtocol = '', transport }: NonNullable<SelectionFields['connection']> = {},
  exists: (path: string) => boolean,
  errors: string[],
): EgressConnection | undefined {
  switch (proxyProtocol) {
    case 'Direct':
      if (transport === undefined) return { protocol: 'Direct' };
      errors.push(invalid('transport', 'direct', 'Transport config should be absent for direct connect'));
      return undefined;
    case 'HTTPConnect':
      return httpConnect(transport, exists, errors);
    case 'GRPC':
      return grpc(transport, errors);
    default:
      errors.push(unsupported(`${path}.protocol`, proxyProtocol, protocols));
      return undefined;
  }
}

function httpConnect(
  transport: TransportFields | undefined,
  exists: (path: string) => boolean,
  errors: string[],
): EgressConnection | undefined {
  if (transport === undefined) {
    errors.push(required('transport', 'transport must be set for HTTPConnect'));
    return undefined;
  }
  const { tcp, uds } = transport;
  if (tcp !== undefined && uds !== undefined) {
    errors.push(invalid('tcp', tcp.url ?? '', 'TCP and UDS cannot both be set'));
    return undefined;
  }
  if (uds !== undefined) return { protocol: 'HTTPConnect', transport: 'uds', socket: socketOf(uds, errors) };
  if (tcp !== undefined) return throughTcp(tcp, exists, errors);
  errors.push(required('tcp', 'One of TCP or UDS must be set'));
  return undefined;
}

function grpc(transport: TransportFields | undefined, errors: string[]): EgressConnection | undefined {
  if (transport?.uds !== undefined) {
    return { protocol: 'GRPC', transport: 'uds', socket: socketOf(transport.uds, errors) };
  }
  if (transport === undefined) errors.push(required('transport', 'transport must be set for GRPC'));
  else errors.push(required('uds', 'UDS must be set with GRPC'));
  return undefined;
}

function socketOf({ udsName = '' }: { readonly udsName?: string }, errors: string[]): string {
  if (udsName === '') errors.push(invalid('udsName', 'nil', 'UDSName should be present for UDS connections'));
  return udsName;
}

function throughTcp(
  { url: text = '', tlsConfig }: NonNullable<TransportFields['tcp']>,
  exists: (path: string) => boolean,
  errors: string[],
): EgressConnection | undefined {
  if (/^http:\/\//.test(text)) {
    if (tlsConfig !== undefined) {
      errors.push(invalid('tlsConfig', 'nil', 'TLSConfig config should not be present when using HTTP'));
    }
  } else if (/^https:\/\//.test(text)) checkTls(tlsConfig, exists, errors);
  else {
    errors.push(invalid('url', text, 'supported connection protocols are http:// and https://'));
    return undefined;
  }
  if (!URL.canParse(text)) {
    errors.push(`invalid proxy server url ${quoted(text)}`);
    return undefined;
  }
  const url = new URL(text);
  return { protocol: 'HTTPConnect', transport: 'tcp', url, ...(tlsConfig === undefined ? {} : { tls: tlsConfig }) };
}

function checkTls(tls: ProxyTls | undefined, exists: (path: string) => boolean, errors: string[]): void {
  if (tls === undefined) {
    errors.push(required('tlsConfig', 'TLSConfig must be present when using HTTPS'));
    return;
  }
  const { caBundle = '', clientCert = '', clientKey = '' } = tls;
  if (caBundle !== '' && !exists(caBundle)) {
    errors.push(invalid('tlsConfig.caBundle', caBundle, 'TLS config ca bundle does not exist'));
  }
  if (clientCert === '') errors.push(invalid('tlsConfig.clientCert', 'nil', 'Using TLS requires clientCert'));
  else if (!exists(clientCert)) {
    errors.push(invalid('tlsConfig.clientCert', clientCert, 'TLS client cert does not exist'));
  }
  if (clientKey === '') errors.push(invalid('tlsConfig.clientKey', 'nil', 'Using TLS requires requires clientKey'));
  else if (!exists(clientKey)) errors.push(invalid('tlsConfig.clientKey', clientKey, 'TLS client key does not exist'));
}

const required = (field: string, detail: string): string => `${path}.${field}: Required value: ${detail}`;

const invalid = (field: string, value: string, detail: string): string =>
  `${path}.${field}: Invalid value: ${quoted(value)}: ${detail}`;

const unsupported = (field: string, value: string, supported: readonly string[]): string =>
  `${field}: Unsupported value: ${quoted(value)}: supported values: ${supported.map(quoted).join(', ')}`;
