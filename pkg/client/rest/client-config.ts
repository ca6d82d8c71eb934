/** The address of an API server and the client's identity, from a kubeconfig, a pod's environment or options. */
import type { Registry } from 'prom-client';
import type { Clock } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { HttpTransport } from '#client/rest/http-transport.js';
import { requestMetrics } from '#client/rest/metrics.js';
import { encodingFor } from '#client/rest/protobuf-encoding.js';
import { RestClient } from '#client/rest/rest-client.js';
import type { TlsSource, TokenSource } from '#http/client/credentials.js';

export interface ClientConfig {
  /** `https://host:port`, optionally with a path. */
  readonly server: string;
  readonly tls?: TlsSource;
  readonly serverName?: string;
  readonly insecureSkipVerify?: boolean;
  readonly token?: TokenSource;
  /** Sent with every request, such as Impersonate-User. */
  readonly headers?: Readonly<Record<string, string | string[]>>;
  /** Proxy of every connection: http, https or socks5. */
  readonly proxy?: URL;
  /** Whether large responses may be compressed; default: true. */
  readonly compression?: boolean;
  /** The user's default namespace. */
  readonly namespace: string;
}

export interface ConnectOptions {
  readonly dialect: Dialect;
  readonly clock: Clock;
  readonly qps?: number;
  readonly burst?: number;
  readonly userAgent?: string;
  readonly timeoutMs?: number;
  readonly metrics?: Registry;
  /** Media type of objects; default: JSON. */
  readonly contentType?: string;
}

/** A client for the server of `config`. Connects on the first request. Throws TypeError as Connection. */
export function connect(config: ClientConfig, options: ConnectOptions): RestClient {
  const { dialect, clock, timeoutMs, metrics, qps, burst, userAgent, contentType = '' } = options;
  const { namespace: _, ...target } = config;
  const transport = new HttpTransport({ ...target, clock, ...(timeoutMs === undefined ? {} : { timeoutMs }) });
  return new RestClient({
    transport,
    dialect,
    clock,
    encoding: encodingFor(contentType, dialect),
    ...(qps === undefined ? {} : { qps }),
    ...(burst === undefined ? {} : { burst }),
    ...(userAgent === undefined ? {} : { userAgent }),
    ...(metrics === undefined ? {} : { metrics: requestMetrics(metrics, new URL(config.server).host) }),
  });
}
