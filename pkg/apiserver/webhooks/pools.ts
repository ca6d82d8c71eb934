/** Connections to webhooks: kept for the next call, as many as are of use, and no more. */
import { Agent } from 'node:https';
import { createSecureContext, type SecureContext } from 'node:tls';
import type { WebhookClientConfig } from '#api/admissionregistration/v1/types.gen.js';
import { trusted } from '#apimachinery/net/trusted.js';
import { Prover, userFor, type WebhookCredentials } from '#apiserver/webhooks/credentials.js';
import { targetOf, type WebhookTarget } from '#apiserver/webhooks/target.js';

/** Configurations whose connections are kept: 1.24's figure. */
const maxPools = 200;
/** Connections to one address. */
const maxConnections = 100;
/** Those of them that stay open while nobody uses them, and for how long. */
const maxIdle = 8;
const idleMs = 90_000;

export interface Pool {
  readonly target: WebhookTarget;
  readonly agent: Agent;
  /** Parsed once, not for every connection. Absent: the authorities of the system. */
  readonly trust?: SecureContext;
  /** Who asks; absent: nobody in particular. */
  readonly prover?: Prover;
  /** Under way. */
  calls: number;
}

/**
 * One pool for each target and authority. Node's own agent does the pooling: it is part of the platform, and undici would
 * add half a megabyte and a second parser of HTTP to do the same.
 */
export class Pools {
  readonly #byTarget = new Map<string, Pool>();
  /** Objects of the cache stay the same until they change. */
  #byConfig = new WeakMap<WebhookClientConfig, string>();
  readonly #numbers = new Map<WebhookCredentials | undefined, number>();
  #closed = false;

  /** Throws WebhookCallError for a configuration that leads nowhere. */
  of(config: WebhookClientConfig, credentials?: WebhookCredentials): Pool {
    // Connections are those of who has proved himself.
    const key = `${this.#numberOf(credentials)} ${this.#key(config)}`;
    const known = this.#byTarget.get(key);
    if (known !== undefined) {
      // The last used one is the last to go.
      this.#byTarget.delete(key);
      this.#byTarget.set(key, known);
      return known;
    }
    const target = targetOf(config);
    const user = credentials && userFor(credentials, target.authority);
    const pool: Pool = {
      target,
      ...(user === undefined ? {} : { prover: new Prover(user, target.ca) }),
      agent: new Agent({
        keepAlive: !this.#closed,
        maxSockets: maxConnections,
        maxFreeSockets: maxIdle,
        timeout: idleMs,
      }),
      ...(target.ca === undefined ? {} : { trust: createSecureContext(trusted({ ca: target.ca })) }),
      calls: 0,
    };
    this.#byTarget.set(key, pool);
    this.#makeRoom();
    return pool;
  }

  /** Calls under way end by themselves; nothing is kept afterwards. */
  close(): void {
    this.#closed = true;
    for (const { agent, calls } of this.#byTarget.values()) if (calls === 0) agent.destroy();
    this.#byTarget.clear();
  }

  /** There are as many as configured plugins. */
  #numberOf(credentials: WebhookCredentials | undefined): number {
    const number = this.#numbers.get(credentials) ?? this.#numbers.size;
    this.#numbers.set(credentials, number);
    return number;
  }

  #key(config: WebhookClientConfig): string {
    let key = this.#byConfig.get(config);
    if (key === undefined) {
      const { url, service, caBundle } = config;
      key = JSON.stringify([url, service?.namespace, service?.name, service?.path, service?.port, caBundle]);
      this.#byConfig.set(config, key);
    }
    return key;
  }

  #makeRoom(): void {
    for (const [key, { agent, calls }] of this.#byTarget) {
      if (this.#byTarget.size <= maxPools) return;
      if (calls > 0) continue;
      agent.destroy();
      this.#byTarget.delete(key);
    }
  }
}
