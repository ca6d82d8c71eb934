/** The parts of a control plane whose health `componentstatuses` tells, and how it is found out. */
import type { Clock } from '#apimachinery/clock.js';
import { HttpTransport } from '#client/rest/http-transport.js';
import { readAll } from '#client/rest/response.js';
import type { Store } from '#storage/store.js';

export interface Component {
  /** Name of its object: `scheduler`, `etcd-0`. */
  readonly name: string;
  /** What the component says of itself when it is healthy. Rejects with an Error that says why it is not. */
  check(signal: AbortSignal): Promise<string>;
}

/** What etcd's own `/health` says. */
const etcdHealthy = '{"health":"true","reason":""}';
/** As long as 1.24 waits. */
const patienceMs = 20_000;
/** Of what a component says, no more than this is shown. */
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
 * A daemon of this machine, asked for `/healthz` at its usual port. Its certificate is not verified: it may be one that it
 * made for itself, and nothing secret is sent.
 */
export function localDaemon(name: string, port: number, clock: Clock): Component {
  const server = `https://127.0.0.1:${port}`;
  return {
    name,
    async check(signal) {
      const transport = new HttpTransport({ server, insecureSkipVerify: true, timeoutMs: patienceMs, clock });
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
