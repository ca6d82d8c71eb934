/** Components of the control plane in `componentstatuses`, and their health checks. */
import type { Clock } from '#apimachinery/clock.js';
import { HttpTransport } from '#client/rest/http-transport.js';
import { readAll } from '#client/rest/response.js';
import type { Store } from '#storage/store.js';

export interface Component {
  /** Name of its object: `scheduler`, `etcd-0`. */
  readonly name: string;
  /** The message of a healthy component. Rejects with the reason why it is unhealthy. */
  check(signal: AbortSignal): Promise<string>;
}

/** The response of etcd's own `/health`. */
const etcdHealthy = '{"health":"true","reason":""}';
/** As in 1.24. */
const timeoutMs = 20_000;
/** Most characters of a component's message. */
const maxMessage = 1024;

/** The store is healthy when it answers a quorum read. */
export function storeComponent(name: string, store: Pick<Store, 'health'>): Component {
  return {
    name,
    async check(signal) {
      await store.health(signal);
      return etcdHealthy;
    },
  };
}

/**
 * A daemon of this machine, checked by `/healthz` at its default port. Its certificate is not verified: it may be self-signed, and
 * the request contains no secret.
 */
export function localDaemon(name: string, port: number, clock: Clock): Component {
  const server = `https://127.0.0.1:${port}`;
  return {
    name,
    async check(signal) {
      const transport = new HttpTransport({ server, insecureSkipVerify: true, timeoutMs, clock });
      try {
        const response = await transport.request({ method: 'GET', path: '/healthz', headers: {}, signal });
        const message = (await readAll(response.body)).toString().slice(0, maxMessage);
        if (response.status !== 200) throw new Error(message);
        return message;
      } finally {
        await transport.close();
      }
    },
  };
}
