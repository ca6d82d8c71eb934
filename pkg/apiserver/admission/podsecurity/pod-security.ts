/**
 * Refuses, audits and warns about pods by the Pod Security Standards (KEP-2579), as the labels of their namespaces or the
 * server's defaults say. Templates of workloads are audited and warned about. Namespaces must have valid labels, and a
 * stricter level warns about existing pods.
 */
import { namespaces, pods } from '#api/core/v1/resources.gen.js';
import type { Namespace, Pod } from '#api/core/v1/types.gen.js';
import type { MaybePromise } from '#apimachinery/async/steps.js';
import type { TurnQueue } from '#apimachinery/async/turn-queue.js';
import type { Clock } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { type FieldFailure, internalError, invalid, notFound } from '#apimachinery/errors/status.js';
import type { ResourceDeclaration } from '#apimachinery/schema/schema.js';
import type { AdmissionAttributes, AdmissionPlugin } from '#apiserver/admission/admission.js';
import { refusal } from '#apiserver/admission/plugin.js';
import {
  checkedResources,
  type PodParts,
  templateOf,
  uncheckedSubresources,
} from '#apiserver/admission/podsecurity/checked-resources.js';
import { existingPodsMs, existingPodsWarnings } from '#apiserver/admission/podsecurity/existing-pods.js';
import type { PodSecurityMetrics, RequestLabels } from '#apiserver/admission/podsecurity/metrics.js';
import type { PodSecurityConfiguration } from '#apiserver/admission/podsecurity/policy/configuration.js';
import { type Policy, podSecurityPrefix, policyOf } from '#apiserver/admission/podsecurity/policy/namespace-policy.js';
import { verdictOn } from '#apiserver/admission/podsecurity/policy/verdict.js';
import { isSignificantUpdate } from '#apiserver/admission/podsecurity/significant-update.js';
import { checkedPod } from '#apiserver/admission/podsecurity/standards/check.js';
import {
  compareLevels,
  type LevelVersion,
  latestVersion,
  sameLevel,
} from '#apiserver/admission/podsecurity/standards/level.js';
import type { ObjectReader } from '#apiserver/objects/object-reader.js';
import type { Logger } from '#daemon/log/logger.js';
import type { ResourceStorage } from '#storage/resource-storage.js';

export interface PodSecurityOptions {
  readonly dialect: Dialect;
  readonly configuration: PodSecurityConfiguration;
  readonly metrics: PodSecurityMetrics;
  readonly reader: ObjectReader;
  /** The storage of a resource; undefined if the server has none. */
  readonly storageOf: (resource: ResourceDeclaration) => ResourceStorage | undefined;
  readonly clock: Clock;
  readonly log: Logger;
  /** Pauses between the existing pods of a namespace. */
  readonly turns: Pick<TurnQueue, 'pause'>;
}

interface ReviewedPolicy {
  readonly policy: Policy;
  readonly failures: readonly FieldFailure[];
}

type ExemptionReason = 'namespace' | 'user' | 'runtimeClass';

export class PodSecurity implements AdmissionPlugin {
  readonly name = 'PodSecurity';
  readonly resources = checkedResources;
  readonly #options: PodSecurityOptions;

  constructor(options: PodSecurityOptions) {
    this.#options = options;
  }

  handles({ operation, resource, subresource }: AdmissionAttributes): boolean {
    if (operation !== 'CREATE' && operation !== 'UPDATE') return false;
    return subresource === '' || (resource.resource === 'pods' && !uncheckedSubresources.has(subresource));
  }

  validate(attributes: AdmissionAttributes): MaybePromise<void> {
    return attributes.resource.resource === 'namespaces'
      ? this.#validateNamespace(attributes)
      : this.#validatePod(attributes);
  }

  /** Returns without waiting for most requests: the cache has their namespace. */
  #validatePod(attributes: AdmissionAttributes): MaybePromise<void> {
    const { usernames, namespaces: exempt } = this.#options.configuration.exemptions;
    if (exempt.has(attributes.namespace)) return this.#exempt(attributes, 'namespace');
    if (usernames.has(attributes.user.name)) return this.#exempt(attributes, 'user');
    const namespace = this.#options.reader.get(namespaces, '', attributes.namespace);
    if (namespace === undefined || namespace instanceof Promise) return this.#afterLookup(attributes, namespace);
    return this.#inNamespace(attributes, namespace);
  }

  /** The cache may not show yet that the namespace was just created. */
  async #afterLookup(attributes: AdmissionAttributes, cached: Promise<Namespace | undefined> | undefined) {
    const { reader } = this.#options;
    const name = attributes.namespace;
    let namespace: Namespace | undefined;
    try {
      namespace = (await cached) ?? (await reader.get(namespaces, '', name, 'latest'));
      if (namespace === undefined) throw notFound({ group: '', resource: 'namespaces' }, name);
    } catch (error) {
      return this.#lookupFailed(attributes, error);
    }
    return this.#inNamespace(attributes, namespace);
  }

  /** Refuses pods; workloads are admitted, because their pods will be checked. */
  #lookupFailed(attributes: AdmissionAttributes, error: unknown): void {
    const what = `failed to lookup namespace ${attributes.namespace}`;
    this.#options.metrics.failed(true, labelsOf(attributes));
    if (!isPod(attributes)) return this.#annotate(attributes, 'error', `${what}: ${messageOf(error)}`);
    const failure = internalError(new Error(what, { cause: error }));
    this.#annotate(attributes, 'error', `${failure.message}: ${messageOf(error)}`);
    throw failure;
  }

  #inNamespace(attributes: AdmissionAttributes, { metadata: { labels } }: Namespace): void {
    const { configuration, dialect, metrics } = this.#options;
    const { policy, failures } = policyOf(labels, configuration.defaults, dialect);
    const enforced = isPod(attributes);
    if (failures.length === 0 && allowsAll(policy, enforced)) {
      if (!enforced) return;
      metrics.evaluated({ mode: 'enforce', level: policy.enforce, allowed: true }, labelsOf(attributes));
      return this.#annotate(attributes, 'enforce-policy', `privileged:${latestVersion.text}`);
    }
    const { object, oldObject } = attributes;
    if (object === undefined) return;
    if (enforced && oldObject !== undefined && !isSignificantUpdate(object as Pod, oldObject as Pod, dialect)) return;
    const parts: PodParts | undefined = enforced ? (object as Pod) : templateOf(object);
    if (parts !== undefined) this.#check(attributes, parts, { policy, failures });
  }

  #check(attributes: AdmissionAttributes, { metadata, spec }: PodParts, { policy, failures }: ReviewedPolicy): void {
    const { configuration, dialect, metrics } = this.#options;
    if (configuration.exemptions.runtimeClasses.has(spec.runtimeClassName ?? ''))
      return this.#exempt(attributes, 'runtimeClass');
    const labels = labelsOf(attributes);
    if (failures.length > 0) metrics.failed(false, labels);
    const pod = checkedPod(metadata, spec, dialect);
    const verdict = verdictOn(pod, policy, { enforced: isPod(attributes), failures });
    for (const evaluation of verdict.evaluations) metrics.evaluated(evaluation, labels);
    for (const [key, text] of Object.entries(verdict.annotations)) this.#annotate(attributes, key, text);
    if (verdict.refusal !== undefined) throw refusal(attributes, dialect, verdict.refusal);
    if (verdict.warning !== undefined) attributes.warn(verdict.warning);
  }

  #validateNamespace(attributes: AdmissionAttributes): MaybePromise<void> {
    const { configuration, dialect } = this.#options;
    const [object, oldObject] = [attributes.object as Namespace, attributes.oldObject as Namespace | undefined];
    const name = object.metadata.name ?? attributes.name;
    const { policy, failures } = policyOf(object.metadata.labels, configuration.defaults, dialect);
    const old = oldObject && policyOf(oldObject.metadata.labels, configuration.defaults, dialect);
    // Labels that were invalid before do not prevent other changes.
    if (failures.length > 0 && !(old && sameFailures(failures, old.failures)))
      throw invalid({ group: '', kind: 'Namespace' }, name, failures);
    if (old === undefined || !isStricter(policy, old.policy)) return;
    if (configuration.exemptions.namespaces.has(name)) return this.#annotate(attributes, 'exempt', 'namespace');
    return this.#warnOfPods(attributes, name, policy);
  }

  /** Warns about existing pods that violate the new level; never refuses. */
  async #warnOfPods(attributes: AdmissionAttributes, namespace: string, { enforce }: Policy): Promise<void> {
    try {
      for (const warning of await this.#podWarnings(attributes, namespace, enforce)) attributes.warn(warning);
    } catch (error) {
      this.#options.log.warn({ namespace, err: error }, 'cannot check the pods of a namespace against its new level');
      attributes.warn('failed to list pods while checking new PodSecurity enforce level');
    }
  }

  async #podWarnings({ scope }: AdmissionAttributes, namespace: string, level: LevelVersion) {
    const { configuration, dialect, clock, turns, storageOf } = this.#options;
    const storage = storageOf(pods);
    if (storage === undefined) throw new RangeError('this server has no pods');
    const nowMs = clock.monotonic();
    const leftMs = (scope?.context.dueMs ?? Number.POSITIVE_INFINITY) - nowMs;
    const where = { scope: `${namespace}/`, version: { kind: 'any' } } as const;
    const entries = storage.ready() ? storage.cachedIn(where.scope) : (await storage.list(where)).entries;
    return existingPodsWarnings({
      namespace,
      level,
      pods: entries.map((entry) => () => entry.object() as Pod),
      exemptRuntimeClasses: configuration.exemptions.runtimeClasses,
      dialect,
      clock,
      // Leaves half of the remaining time to the rest of the request.
      dueMs: nowMs + Math.min(existingPodsMs, leftMs / 2),
      pause: () => turns.pause(),
      isCancelled: () => scope?.context.cancellation.aborted === true,
    });
  }

  #exempt(attributes: AdmissionAttributes, reason: ExemptionReason): void {
    this.#options.metrics.exempted(labelsOf(attributes));
    this.#annotate(attributes, 'exempt', reason);
  }

  #annotate({ scope }: AdmissionAttributes, key: string, text: string): void {
    scope?.context.audit?.annotate(`${podSecurityPrefix(this.#options.dialect)}${key}`, text);
  }
}

function isPod({ resource }: AdmissionAttributes): boolean {
  return resource.resource === 'pods';
}

function labelsOf({ operation, resource, subresource }: AdmissionAttributes): RequestLabels {
  return {
    operation: operation === 'CREATE' ? 'create' : 'update',
    resource: resource.resource === 'pods' ? 'pod' : 'controller',
    subresource,
  };
}

function allowsAll({ enforce, audit, warn }: Policy, enforced: boolean): boolean {
  return audit.level === 'privileged' && warn.level === 'privileged' && !(enforced && enforce.level !== 'privileged');
}

/** Whether the new level may refuse pods that the old one allows: another version may be stricter, too. */
function isStricter({ enforce }: Policy, { enforce: old }: Policy): boolean {
  if (enforce.level === 'privileged' || sameLevel(enforce, old)) return false;
  return enforce.version.text !== old.version.text || compareLevels(enforce.level, old.level) > 0;
}

function sameFailures(a: readonly FieldFailure[], b: readonly FieldFailure[]): boolean {
  return (
    a.length === b.length && a.every(({ field, message }, i) => field === b[i]?.field && message === b[i]?.message)
  );
}
