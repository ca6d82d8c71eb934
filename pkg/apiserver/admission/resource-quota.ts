/**
 * Refuses what a namespace's quotas have no room for, and counts what is written.
 *
 * Flow: `validate` refuses what cannot fit; the write then carries the new `status.used` of each quota that it takes from
 * in its own transaction, which happens only while those quotas are as they were read. Whoever was overtaken looks again.
 *
 * Guarantees: an object and what it takes are stored together or not at all, so that no quota is overdrawn, whichever
 * servers write at once, and nothing stays taken by a write that failed. A dry run takes nothing. What goes away is given
 * back by the controller, which counts anew.
 *
 * Assumption, as in 1.24: a quota is enforced once its `status.hard` says so, which the controller writes when it has counted
 * what there is.
 */
import type { ResourceQuota } from '#api/core/v1/types.gen.js';
import { deferred } from '#apimachinery/async/deferred.js';
import type { Cancellation } from '#apimachinery/cancellation.js';
import type { Clock } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { keyOf } from '#apimachinery/object-key.js';
import type { AdmissionAttributes, AdmissionPlugin } from '#apiserver/admission/admission.js';
import {
  type Charge,
  checkQuotas,
  type LimitedResource,
  limitedByDefault,
  type QuotaRequest,
} from '#apiserver/admission/quota-check.js';
import { concerns, refusal } from '#apiserver/admission/refusal.js';
import type { QuotaEvaluator } from '#quota/evaluator.js';
import type { QuotaEvaluators } from '#quota/evaluators.js';
import { encodeStored } from '#storage/layout.js';
import type { CompanionUpdate, Entry, ResourceStorage, WriteCondition } from '#storage/resource-storage.js';
import type { Guard, Revision } from '#storage/store.js';

export interface ResourceQuotaOptions {
  readonly dialect: Dialect;
  readonly clock: Clock;
  readonly evaluators: QuotaEvaluators;
  /** Where the quotas are; undefined where the server has none. */
  readonly quotas: ResourceStorage | undefined;
  /** What may be used only where a quota covers it. */
  readonly limited: readonly LimitedResource[];
}

export class ResourceQuotaAdmission implements AdmissionPlugin {
  readonly name = 'ResourceQuota';
  readonly #options: ResourceQuotaOptions;
  /** So that the requests of this server do not overtake each other. */
  readonly #turns = new NamespaceTurns();

  constructor(options: ResourceQuotaOptions) {
    this.#options = options;
  }

  handles(attributes: AdmissionAttributes): boolean {
    const { operation, subresource, namespace, object, oldObject } = attributes;
    if ((operation !== 'CREATE' && operation !== 'UPDATE') || subresource !== '' || namespace === '') return false;
    if (concerns(attributes, 'core', 'namespaces') || !this.#mayBeLimited(namespace)) return false;
    const evaluator = this.#evaluatorOf(attributes);
    if (evaluator === undefined || object === undefined) return false;
    return oldObject === undefined || evaluator.mayUseMore(object, oldObject);
  }

  async validate(attributes: AdmissionAttributes): Promise<void> {
    const { namespace, dryRun, object, oldObject } = attributes;
    const evaluator = this.#evaluatorOf(attributes);
    const { quotas } = this.#options;
    if (evaluator === undefined || object === undefined || quotas === undefined) return;
    const { group, resource } = attributes.resource;
    const limited = limitedByDefault(this.#options.limited, this.#options.dialect.groupName(group), resource);
    const request: QuotaRequest = { evaluator, object, old: oldObject, nowMs: this.#options.clock.now(), limited };
    const check = (known: readonly Entry[]) => {
      const verdict = checkQuotas(
        known.map((entry) => entry.object() as ResourceQuota),
        request,
      );
      if ('refused' in verdict) throw refusal(attributes, this.#options.dialect, verdict.refused);
      return verdict.charges;
    };
    const charge = new QuotaCharge({ quotas, namespace, turns: this.#turns, check });
    if ((await charge.needed()) && !dryRun) attributes.require(charge);
  }

  #evaluatorOf({ resource: { group, resource } }: AdmissionAttributes): QuotaEvaluator | undefined {
    return this.#options.evaluators.of(group, resource);
  }

  /** A look into memory, which is all that a namespace without quotas costs. */
  #mayBeLimited(namespace: string): boolean {
    const { quotas } = this.#options;
    if (quotas === undefined) return false;
    return this.#options.limited.length > 0 || !quotas.ready() || quotas.cachedIn(`${namespace}/`).length > 0;
  }
}

interface QuotaChargeOptions {
  readonly quotas: ResourceStorage;
  readonly namespace: string;
  readonly turns: NamespaceTurns;
  /** What the quotas would be charged. Throws 403 for what they have no room for. */
  readonly check: (known: readonly Entry[]) => readonly Charge[];
}

/** What one write takes of the quotas: written with it. */
class QuotaCharge implements WriteCondition {
  readonly #options: QuotaChargeOptions;
  #updates: readonly CompanionUpdate[] = [];
  #endTurn: (() => void) | undefined;

  constructor(options: QuotaChargeOptions) {
    this.#options = options;
  }

  /** False where the write takes nothing of any quota. Throws 403 where there is no room for it. */
  async needed(): Promise<boolean> {
    return (await this.#charges(false)).length > 0;
  }

  async guards(failed: readonly Guard[] | undefined, signal: Cancellation | undefined): Promise<readonly Guard[]> {
    this.#endTurn ??= await this.#options.turns.take(this.#options.namespace, signal);
    const charges = await this.#charges(failed !== undefined, signal);
    const { quotas } = this.#options;
    this.#updates = charges.map(({ quota, used }) => {
      const charged = { ...quota, metadata: { ...quota.metadata }, status: { ...quota.status, used } };
      const expected = BigInt(quota.metadata.resourceVersion ?? '0');
      return quotas.companionUpdate(keyOf(quota), encodeStored(charged), expected);
    });
    return this.#updates.map(({ guard }) => guard);
  }

  settled(revision: Revision | undefined): void {
    if (revision !== undefined) for (const update of this.#updates) update.written(revision);
    this.#endTurn?.();
  }

  /** What memory shows may be old: nothing is refused because of it alone. */
  async #charges(overtaken: boolean, signal?: Cancellation): Promise<readonly Charge[]> {
    const { check } = this.#options;
    if (overtaken) return check(await this.#latest(signal));
    const known = await this.#known(signal);
    try {
      return check(known);
    } catch (error) {
      const latest = await this.#latest(signal);
      if (sameVersions(known, latest)) throw error;
      return check(latest);
    }
  }

  /** The newest that this server knows, its own writes before the store tells of them included. */
  async #known(signal: Cancellation | undefined): Promise<readonly Entry[]> {
    const { quotas, namespace } = this.#options;
    if (!quotas.ready()) return this.#latest(signal);
    const listed = quotas.cachedIn(`${namespace}/`);
    return listed.flatMap((entry) => quotas.cached(entry.key.slice(quotas.prefix.length)) ?? []);
  }

  async #latest(signal: Cancellation | undefined): Promise<readonly Entry[]> {
    const { quotas, namespace } = this.#options;
    const cancelled = signal === undefined ? {} : { signal };
    return (await quotas.list({ scope: `${namespace}/`, version: { kind: 'latest' }, ...cancelled })).entries;
  }
}

function sameVersions(a: readonly Entry[], b: readonly Entry[]): boolean {
  return a.length === b.length && a.every((entry, i) => entry.revision === b[i]?.revision);
}

/** One after the other within a namespace: what would overtake each other waits instead. */

export class NamespaceTurns {
  /** Who waits in each namespace where it is somebody's turn. At most as many as there are requests. */
  readonly #waiting = new Map<string, (() => void)[]>();

  /** Resolves, when it is the caller's turn, to what ends it. Rejects with the reason when the signal aborts before. */
  async take(namespace: string, signal?: Cancellation): Promise<() => void> {
    signal?.throwIfAborted();
    const queue = this.#waiting.get(namespace);
    if (queue === undefined) this.#waiting.set(namespace, []);
    else await this.#inLine(queue, signal);
    let over = false;
    return () => {
      if (!over) this.#next(namespace);
      over = true;
    };
  }

  async #inLine(queue: (() => void)[], signal: Cancellation | undefined): Promise<void> {
    const turn = deferred();
    const start = () => turn.resolve();
    const leave = () => {
      const at = queue.indexOf(start);
      if (at < 0) return;
      queue.splice(at, 1);
      turn.reject(signal?.reason);
    };
    queue.push(start);
    signal?.addEventListener('abort', leave, { once: true });
    try {
      await turn.promise;
    } finally {
      signal?.removeEventListener('abort', leave);
    }
  }

  #next(namespace: string): void {
    const next = this.#waiting.get(namespace)?.shift();
    if (next === undefined) this.#waiting.delete(namespace);
    else next();
  }
}
