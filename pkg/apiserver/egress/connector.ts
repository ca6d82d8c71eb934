/** A proxy, in the two steps that the metrics tell apart. */
import type { Dial } from '#http/client/dial.js';

export interface Connector {
  /** Label of metrics. */
  readonly protocol: 'http_connect' | 'grpc';
  readonly transport: 'tcp' | 'uds';
  /** Opens a connection to the proxy, which then leads to one target. An abort before that ends both steps. */
  connect(signal: AbortSignal): Promise<Dial>;
}
