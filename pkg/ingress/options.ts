/** Options of the standalone ingress controller. */
import type { Dialect } from '#apimachinery/dialect.js';
import { type IPBlock, parseCIDR } from '#apimachinery/net/ip.js';
import { withDialectNames } from '#daemon/options/dialect-names.js';
import { clientConnectionOptions } from '#daemon/options/groups/client-connection.js';
import { genericOptions } from '#daemon/options/groups/generic.js';
import { loggingOptions } from '#daemon/options/groups/logging.js';
import type { OptionTable, OptionValues } from '#daemon/options/option.js';
import type { Rule } from '#daemon/options/validate.js';
import { bindAddress } from '#daemon/serving/plain-http.js';
import { standardLimits } from '#ingress/http/limits.js';
import type { IngressControllerOptions } from '#ingress/ingress-controller.js';

const section = 'Ingress';

const ingressOptions = {
  'bind-address': {
    type: 'string',
    default: '',
    section,
    meaning: 'Address to listen on. Default: all addresses of this machine.',
  },
  'http-port': { type: 'int', default: 80, min: 0, section, meaning: 'Port of HTTP; 0 for none.' },
  'https-port': {
    type: 'int',
    default: 443,
    min: 0,
    section,
    meaning: 'Port of HTTPS, with HTTP/2; 0 for none.',
  },
  'https-redirect': {
    type: 'bool',
    default: true,
    section,
    meaning: 'Redirect HTTP requests for hosts that an Ingress serves with TLS to HTTPS (308).',
  },
  'published-https-port': {
    type: 'int',
    default: 0,
    min: 0,
    section,
    meaning: 'Port of HTTPS as clients see it, for redirections. Default: that of --https-port.',
  },
  'publish-address': {
    type: 'strings',
    section,
    meaning:
      'Addresses or host names to write into the status of Ingresses; the same for all controllers of a class. Default: the status is not written.',
  },
  'publish-service': {
    type: 'string',
    section,
    meaning:
      'Service in front of the controller, as NAMESPACE/NAME, whose load balancer’s addresses are written into the status.',
  },
  'trusted-proxies': {
    type: 'strings',
    section,
    meaning: 'Address ranges of proxies in front of the controller, whose X-Forwarded headers are kept.',
  },
  'backend-timeout': {
    type: 'duration',
    default: standardLimits.backendMs,
    min: 1000,
    section,
    meaning: 'Longest silence of a backend during a request, and of a client during a response.',
  },
  'upgrade-timeout': {
    type: 'duration',
    default: standardLimits.tunnelMs,
    min: 1000,
    section,
    meaning: 'Longest silence of an upgraded connection, WebSocket among them.',
  },
  'max-connections': {
    type: 'int',
    default: standardLimits.maxConnections,
    min: 0,
    section,
    meaning: 'Limit of open client connections; 0 for none.',
  },
  'max-connections-per-client': {
    type: 'int',
    default: standardLimits.maxConnectionsPerClient,
    min: 0,
    section,
    meaning: 'Limit of open connections per client address, except trusted proxies; 0 for none.',
  },
  'max-requests': {
    type: 'int',
    default: standardLimits.maxRequests,
    min: 0,
    section,
    meaning:
      'Limit of requests in progress, upgraded connections among them; 0 for none. A client address has at most a fifth, except trusted proxies, and the backends of a service four fifths.',
  },
  'healthz-bind-address': {
    type: 'string',
    default: '0.0.0.0:10254',
    section: 'Serving',
    meaning: 'Address and port of /healthz; empty for none.',
  },
  'metrics-bind-address': {
    type: 'string',
    default: '127.0.0.1:10253',
    section: 'Serving',
    meaning: 'Address and port of /metrics, without authentication; empty for none.',
  },
} as const satisfies OptionTable;

export function ingressOptionTable(dialect: Dialect) {
  const table = {
    ...genericOptions,
    ...ingressOptions,
    ...clientConnectionOptions({ qps: 20, burst: 40, contentType: dialect.protobufMediaType }),
    ...loggingOptions,
  } as const satisfies OptionTable;
  return withDialectNames({ ...table, orchconfig: { ...table.orchconfig, aliases: ['kubeconfig'] } } as const, dialect);
}

type IngressValues = OptionValues<typeof ingressOptions>;

const highestPort = 65_535;

export const ingressRules: Rule<IngressValues> = (values) => {
  const errors: string[] = [];
  for (const name of ['http-port', 'https-port', 'published-https-port'] as const) {
    if (values[name] > highestPort) errors.push(`--${name} must be a port, from 0 to ${highestPort}`);
  }
  for (const range of values['trusted-proxies']) {
    if (parseCIDR(range) === undefined)
      errors.push(`--trusted-proxies ${JSON.stringify(range)} must be a range of addresses`);
  }
  const service = values['publish-service'] ?? '';
  if (service !== '' && !/^[^/]+\/[^/]+$/.test(service))
    errors.push(`--publish-service ${JSON.stringify(service)} must be NAMESPACE/NAME`);
  if (service !== '' && values['publish-address'].length > 0)
    errors.push('--publish-service and --publish-address exclude each other');
  for (const name of ['healthz-bind-address', 'metrics-bind-address'] as const) {
    if (values[name] !== '' && bindAddress(values[name]) === undefined)
      errors.push(`--${name} ${JSON.stringify(values[name])} must be an address and a port`);
  }
  return errors;
};

/** Converts options to controller settings. */
export function ingressSettings(
  values: IngressValues,
): Omit<IngressControllerOptions, 'informers' | 'recorder' | 'clock' | 'random' | 'log' | 'metrics'> {
  const service = values['publish-service'] ?? '';
  const orNone = (port: number) => (port === 0 ? undefined : port);
  return {
    address: values['bind-address'],
    httpPort: orNone(values['http-port']),
    httpsPort: orNone(values['https-port']),
    redirects: values['https-redirect'],
    publishedHttpsPort: orNone(values['published-https-port']),
    publishedAddresses: values['publish-address'],
    publishedService: service === '' ? undefined : service,
    trustedProxies: values['trusted-proxies'].map(parseCIDR).filter((block): block is IPBlock => block !== undefined),
    limits: {
      ...standardLimits,
      backendMs: values['backend-timeout'],
      tunnelMs: values['upgrade-timeout'],
      maxConnections: values['max-connections'],
      maxConnectionsPerClient: values['max-connections-per-client'],
      maxRequests: values['max-requests'],
    },
  };
}
