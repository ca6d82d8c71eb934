/** Pools of keep-alive connections to webhooks. */
import { Agent } from 'node:https';
import { createSecureContext, type SecureContext } from 'node:tls';
import type { WebhookClientConfig } from '#api/admissionregistration/v1/types.gen.js';
import { withPartialTrustChain } from '#apimachinery/net/tls-trust.js';
import { CredentialSource, userFor, type WebhookCredentials } from '#apiserver/webhooks/credentials.js';
import { targetOf, type WebhookTarget } from '#apiserver/webhooks/target.js';
import type { Dial } from '#http/client/dial.js';
import { DialedHttpsAgent } from '#http/client/dialed-agent.js';

/** Limit of pools, as in 1.24. */
const maxPools = 200;
/** Limit of connections to one address. */
const maxConnections = 100;
/** Limit of idle connections to one address, and how long they stay open. */
const maxIdle = 8;
const idleMs = 90_000;

/** How webhooks with a Service, and those with a URL, are reached; absent: directly. */
export interface WebhookDials {
  readonly service: Dial | undefined;
  readonly url: Dial | undefined;
}

export interface Pool {
  readonly target: WebhookTarget;
  readonly agent: Agent;
  readonly dial: Dial | undefined;
  /** Parsed once, not per connection. Absent: the system's authorities. */
  readonly trust?: SecureContext;
  /** Absent: calls without credentials. */
  readonly credentialSource?: CredentialSource;
  /** Calls in progress. */
  calls: number;
}

/**
 * One pool for each target and CA bundle. Uses Node's own agent: undici would add half a megabyte and a second HTTP parser for the
 * same work.
 */
export class Pools {
  readonly #dials: WebhookDials | undefined;
  readonly #byTarget = new Map<string, Pool>();
  /** Keys of pools; configurations in the cache keep their identity until they change. */
  #byConfig = new WeakMap<WebhookClientConfig, string>();
  readonly #numbers = new Map<WebhookCredentials | undefined, number>();
  #closed = false;

  constructor(dials?: WebhookDials) {
    this.#dials = dials;
  }

  /** Throws WebhookCallError for an invalid configuration. */
  of(config: WebhookClientConfig, credentials?: WebhookCredentials): Pool {
    // Calls with different credentials must not share connections.
    const key = `${this.#numberOf(credentials)} ${this.#key(config)}`;
    const existing = this.#byTarget.get(key);
    if (existing !== undefined) {
      // Move it to the end: the least recently used pool is evicted first.
      this.#byTarget.delete(key);
      this.#byTarget.set(key, existing);
      return existing;
    }
    const target = targetOf(config);
    const user = credentials && userFor(credentials, target.authority);
    const dial = target.service === undefined ? this.#dials?.url : this.#dials?.service;
    const pooling = { keepAlive: !this.#closed, maxSockets: maxConnections, maxFreeSockets: maxIdle, timeout: idleMs };
    const pool: Pool = {
      target,
      ...(user === undefined ? {} : { credentialSource: new CredentialSource(user, target.ca) }),
      dial,
      agent: dial === undefined ? new Agent(pooling) : new DialedHttpsAgent(dial, pooling),
      ...(target.ca === undefined ? {} : { trust: createSecureContext(withPartialTrustChain({ ca: target.ca })) }),
      calls: 0,
    };
    this.#byTarget.set(key, pool);
    this.#makeRoom();
    return pool;
  }

  /** Closes the pools; calls in progress finish. */
  close(): void {
    this.#closed = true;
    for (const { agent, calls } of this.#byTarget.values()) if (calls === 0) agent.destroy();
    this.#byTarget.clear();
  }

  /** The number of the credentials; there is one per configured plugin. */
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
