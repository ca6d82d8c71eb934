/** Limits how fast events are written, so that a flood of them does not fill the store. */
import { createHash } from 'node:crypto';
import type { Event } from '#api/core/v1/types.gen.js';
import type { Clock } from '#apimachinery/clock.js';
import { LruCache } from '#apimachinery/collections/lru-cache.js';
import { cut } from '#apimachinery/errors/message-values.js';
import { tooManyRequests } from '#apimachinery/errors/status.js';
import type { AdmissionAttributes, AdmissionPlugin } from '#apiserver/admission/admission.js';
import type { EventLimit, LimitType } from '#apiserver/admission/event-rate-limit/configuration.js';
import { concerns } from '#apiserver/admission/plugin.js';
import { TokenBucket } from '#client/token-bucket.js';

export interface EventRateLimitOptions {
  readonly limits: readonly EventLimit[];
  readonly clock: Clock;
}

export class EventRateLimit implements AdmissionPlugin {
  readonly name = 'EventRateLimit';
  /** As in 1.24, not the events of the newer group. */
  readonly resources = [{ group: 'core', resource: 'events' }] as const;
  readonly #enforcers: readonly LimitEnforcer[];

  constructor({ limits, clock }: EventRateLimitOptions) {
    this.#enforcers = limits.map((limit) => new LimitEnforcer(limit, clock));
  }

  /** Dry runs write nothing. */
  handles(attributes: AdmissionAttributes): boolean {
    const { operation, dryRun } = attributes;
    if (dryRun || (operation !== 'CREATE' && operation !== 'UPDATE')) return false;
    return concerns(attributes, 'core', 'events');
  }

  /** Throws 429. An event takes from each bucket, even if another one is empty. */
  validate(attributes: AdmissionAttributes): void {
    const reached = new Set(this.#enforcers.flatMap((enforcer) => enforcer.take(attributes)));
    if (reached.size === 0) return;
    const texts = [...reached].join(', ');
    throw tooManyRequests(`Too many requests: ${reached.size === 1 ? texts : `[${texts}]`}`);
  }
}

/** Longer keys are stored as digests: names in events have any length. */
const maxKeyChars = 128;

class LimitEnforcer {
  readonly #limit: EventLimit;
  readonly #clock: Clock;
  readonly #buckets: LruCache<string, TokenBucket>;

  constructor(limit: EventLimit, clock: Clock) {
    this.#limit = limit;
    this.#clock = clock;
    this.#buckets = new LruCache({ limit: limit.type === 'Server' ? 1 : limit.cacheSize });
  }

  /** Takes a token for the event; a text in 1.24's words if there is none. */
  take(attributes: AdmissionAttributes): readonly string[] {
    const { type } = this.#limit;
    const key = keyFor[type](attributes);
    return this.#bucket(key).tryTake() ? [] : [`limit reached on type ${type} for key ${cut(key)}`];
  }

  #bucket(key: string): TokenBucket {
    const short = key.length > maxKeyChars ? createHash('sha256').update(key).digest('base64') : key;
    const present = this.#buckets.get(short);
    if (present !== undefined) return present;
    const { qps, burst } = this.#limit;
    const bucket = new TokenBucket({ qps, burst, clock: this.#clock });
    this.#buckets.set(short, bucket);
    return bucket;
  }
}

const keyFor: Readonly<Record<LimitType, (attributes: AdmissionAttributes) => string>> = {
  Server: () => '',
  Namespace: ({ namespace }) => namespace,
  User: ({ user }) => user.name,
  SourceAndObject: ({ object }) => {
    const { source, involvedObject } = object as Event;
    const { kind, namespace, name, uid, apiVersion } = involvedObject ?? {};
    return [source?.component, source?.host, kind, namespace, name, uid, apiVersion].map((part) => part ?? '').join('');
  },
};
