/** The storage of `componentstatuses`: every read checks the components; nothing is stored. */
import { componentstatuses } from '#api/core/v1/resources.gen.js';
import type { ComponentStatus } from '#api/core/v1/types.gen.js';
import type { Cancellation } from '#apimachinery/cancellation.js';
import type { Clock } from '#apimachinery/clock.js';
import { withNulls } from '#apimachinery/codec/json/empty-members.js';
import { messageOf } from '#apimachinery/errors/message.js';
import type { TypeInfo } from '#apimachinery/schema/type-info.js';
import { EmptyStorage } from '#apiserver/resources/empty-storage.js';
import { TransientEntry } from '#apiserver/resources/served-resource.js';
import { HttpTransport } from '#client/rest/http-transport.js';
import { readAll } from '#client/rest/response.js';
import type { Entry, ListOptions, ListResult, ReadVersion } from '#storage/resource-storage.js';
import type { Store } from '#storage/store.js';

/** A component of the control plane and its health check. */
export interface Component {
  /** Name of its object: `scheduler`, `etcd-0`. */
  readonly name: string;
  /** The message of a healthy component. Rejects with the reason why it is unhealthy. */
  check(signal: AbortSignal): Promise<string>;
}

/** The response of etcd's own `/health`. */
const etcdHealthy = '{"health":"true","reason":""}';
/** Time limit of a check, as in 1.24. */
const timeoutMs = 20_000;
/** Limit of a component's message in characters. */
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

export class ComponentStorage extends EmptyStorage {
  /** The components, sorted by name. */
  readonly #components: readonly Component[];
  readonly #type: TypeInfo;

  constructor(components: readonly Component[], type: TypeInfo) {
    super({ group: '', resource: componentstatuses.resource });
    this.#type = type;
    this.#components = [...components].sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  override async get(key: string, _version: ReadVersion, signal?: Cancellation): Promise<Entry | undefined> {
    const component = this.#components.find(({ name }) => name === key);
    return component === undefined ? undefined : this.#entry(component, signal);
  }

  /** Ignores the limit: there are few components. */
  override async list({ match, signal }: ListOptions): Promise<ListResult> {
    const entries = await Promise.all(this.#components.map((component) => this.#entry(component, signal)));
    return { entries: match === undefined ? entries : entries.filter(match), revision: 0n };
  }

  async #entry(component: Component, cancellation?: Cancellation): Promise<Entry> {
    const { name } = component;
    const controller = new AbortController();
    const abort = () => controller.abort(cancellation?.reason);
    if (cancellation?.aborted === true) abort();
    cancellation?.addEventListener('abort', abort, { once: true });
    const object: ComponentStatus = {
      kind: componentstatuses.kind,
      apiVersion: componentstatuses.version,
      metadata: { name },
      conditions: [{ type: 'Healthy', ...(await condition(component, controller.signal)) }],
    };
    cancellation?.removeEventListener('abort', abort);
    return new TransientEntry(
      this.prefix + name,
      Buffer.from(JSON.stringify(withNulls(this.#type, object))),
      0n,
      this.#type,
    );
  }
}

async function condition(component: Component, signal: AbortSignal): Promise<{ status: string; message: string }> {
  try {
    return { status: 'True', message: await component.check(signal) };
  } catch (error) {
    if (signal.aborted) throw error;
    return { status: 'False', message: messageOf(error) };
  }
}
