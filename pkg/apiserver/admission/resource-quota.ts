/**
 * Refuses writes that exceed a namespace's quotas, and charges the others to them.
 *
 * Flow: `validate` refuses an object that does not fit; the write then carries the new `status.used` of each charged quota in
 * its own transaction, which requires those quotas to be unchanged. If another write was faster, the check runs again.
 *
 * Guarantees: an object and its charge are stored together or not at all, so concurrent servers cannot overdraw a quota, and
 * failed writes charge nothing. Dry runs charge nothing. The controller recounts after deletions.
 *
 * Assumption, as in 1.24: a quota applies once its `status.hard` says so, which the controller writes after it has counted
 * the existing objects.
 */
import type { ResourceQuota } from '#api/core/v1/types.gen.js';
import { deferred } from '#apimachinery/async/deferred.js';
import type { Cancellation } from '#apimachinery/cancellation.js';
import type { Clock } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { keyOf } from '#apimachinery/object-key.js';
import type { AdmissionAttributes, AdmissionPlugin } from '#apiserver/admission/admission.js';
import { concerns, refusal } from '#apiserver/admission/plugin.js';
import {
  type Charge,
  checkQuotas,
  type LimitedResource,
  limitedByDefault,
  type QuotaRequest,
} from '#apiserver/admission/quota-check.js';
import type { QuotaEvaluator } from '#quota/evaluator.js';
import type { QuotaEvaluators } from '#quota/evaluators.js';
import { encodeStored } from '#storage/layout.js';
import type { CompanionUpdate, Entry, ResourceStorage, WriteCondition } from '#storage/resource-storage.js';
import type { Guard, Revision } from '#storage/store.js';

export interface ResourceQuotaOptions {
  readonly dialect: Dialect;
  readonly clock: Clock;
  readonly evaluators: QuotaEvaluators;
  /** The storage of quotas; undefined if the server has none. */
  readonly quotas: ResourceStorage | undefined;
  /** Resources that may be used only if a quota covers them. */
  readonly limited: readonly LimitedResource[];
}

export class ResourceQuotaAdmission implements AdmissionPlugin {
  readonly name = 'ResourceQuota';
  readonly #options: ResourceQuotaOptions;
  /** Serializes this server's own requests. */
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
    const check = (entries: readonly Entry[]) => {
      const verdict = checkQuotas(
        entries.map((entry) => entry.object() as ResourceQuota),
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

  /** Looks only into the cache: the whole cost for a namespace without quotas. */
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
  /** The charges of the write. Throws 403 if a quota has no room. */
  readonly check: (entries: readonly Entry[]) => readonly Charge[];
}

/** The charge of one write, stored with it. */
class QuotaCharge implements WriteCondition {
  readonly #options: QuotaChargeOptions;
  #updates: readonly CompanionUpdate[] = [];
  #endTurn: (() => void) | undefined;

  constructor(options: QuotaChargeOptions) {
    this.#options = options;
  }

  /** False if the write charges no quota. Throws 403 if there is no room. */
  async needed(): Promise<boolean> {
    return (await this.#charges(false)).length > 0;
  }

  async guards(failed: readonly Guard[] | undefined, signal: Cancellation | undefined): Promise<readonly Guard[]> {
    this.#endTurn ??= await this.#options.turns.take(this.#options.namespace, signal);
    const charges = await this.#charges(failed !== undefined, signal);
    const { quotas } = this.#options;
    const updates = charges.map(({ quota, used }) => {
      const charged = { ...quota, metadata: { ...quota.metadata }, status: { ...quota.status, used } };
      const expected = BigInt(quota.metadata.resourceVersion ?? '0');
      return quotas.companionUpdate(keyOf(quota), encodeStored(charged), expected);
    });
    this.#updates = await Promise.all(updates);
    return this.#updates.map(({ guard }) => guard);
  }

  settled(revision: Revision | undefined): void {
    if (revision !== undefined) for (const update of this.#updates) update.written(revision);
    this.#endTurn?.();
  }

  /** Computes the charges. The cache may be stale, so a cached quota alone must not cause a refusal. */
  async #charges(overtaken: boolean, signal?: Cancellation): Promise<readonly Charge[]> {
    const { check } = this.#options;
    if (overtaken) return check(await this.#latest(signal));
    const cached = await this.#cached(signal);
    try {
      return check(cached);
    } catch (error) {
      const latest = await this.#latest(signal);
      if (sameVersions(cached, latest)) throw error;
      return check(latest);
    }
  }

  /** The newest cached entries, including this server's latest writes. */
  async #cached(signal: Cancellation | undefined): Promise<readonly Entry[]> {
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

/** Gives callers of one namespace their turns one after the other. */
export class NamespaceTurns {
  /** Waiting callers of each namespace whose turn is in use; at most as many as requests. */
  readonly #waiting = new Map<string, (() => void)[]>();

  /** Resolves to a function that ends the turn. Rejects with the signal's reason if it aborts before. */
  async take(namespace: string, signal?: Cancellation): Promise<() => void> {
    signal?.throwIfAborted();
    const queue = this.#waiting.get(namespace);
    if (queue === undefined) this.#waiting.set(namespace, []);
    else await this.#waitInLine(queue, signal);
    let over = false;
    return () => {
      if (!over) this.#next(namespace);
      over = true;
    };
  }

  async #waitInLine(queue: (() => void)[], signal: Cancellation | undefined): Promise<void> {
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
