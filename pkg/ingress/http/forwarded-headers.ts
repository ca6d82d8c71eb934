/** The headers that a backend gets. Pure. */
import type { IncomingHttpHeaders } from 'node:http';
import { endToEnd } from '#daemon/streaming/end-to-end.js';

/** What backends believe about clients: only this proxy says it. */
const vouchedHeaders: ReadonlySet<string> = new Set([
  'forwarded',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-port',
  'x-forwarded-proto',
  'x-forwarded-scheme',
  'x-original-uri',
  'x-original-url',
  'x-real-ip',
  'x-rewrite-url',
]);

export interface Client {
  /** Of the connection's other end. */
  readonly address: string;
  /** It is a proxy whose word about its own clients counts. */
  readonly isTrusted: boolean;
  /** As the client named it, with a port where there was one. */
  readonly host: string;
  readonly scheme: 'http' | 'https';
  readonly port: number;
}

type Headers = Record<string, string | string[]>;

export function requestHeaders(received: IncomingHttpHeaders, client: Client): Headers {
  const kept: Headers = {};
  for (const [name, value] of Object.entries(endToEnd(received))) {
    if (name.startsWith(':') || name === 'host' || name === 'expect') continue;
    // Some backends read `x_forwarded_for` as that header, too.
    if (vouchedHeaders.has(name.replaceAll('_', '-'))) continue;
    kept[name] = value;
  }
  return { ...kept, host: client.host, ...vouched(received, client) };
}

function vouched(received: IncomingHttpHeaders, { address, host, isTrusted, port, scheme }: Client): Headers {
  const said = (name: string) => (isTrusted ? text(received[name]) : undefined);
  const before = said('x-forwarded-for');
  return {
    'x-forwarded-for': before === undefined ? address : `${before}, ${address}`,
    'x-forwarded-host': said('x-forwarded-host') ?? host,
    'x-forwarded-port': said('x-forwarded-port') ?? String(port),
    'x-forwarded-proto': said('x-forwarded-proto') ?? scheme,
    'x-real-ip': said('x-real-ip') ?? address,
  };
}

function text(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value.join(', ') : value;
}
