/** Runs and measures the admission plugins of a write. */

import type { Registry } from 'prom-client';
import type { ApiObjectShape } from '#api/meta/object.js';
import type { Clock } from '#apimachinery/clock.js';
import type { Draft } from '#apimachinery/draft.js';
import { badRequest } from '#apimachinery/errors/status.js';
import type { ResourceDeclaration } from '#apimachinery/schema/schema.js';
import type {
  AdmissionAttributes,
  AdmissionOperation,
  AdmissionPlugin,
  AdmissionScope,
  MutableAttributes,
} from '#apiserver/admission/admission.js';
import type { Reinvocation } from '#apiserver/admission/reinvocation.js';
import type { UserInfo } from '#apiserver/http/exchange.js';
import { warn } from '#apiserver/http/request-context.js';
import { concernedWith } from '#apiserver/resources/write-hook.js';
import { PlainHistogram, PlainSummary } from '#daemon/metrics/plain-series.js';
import type { WriteCondition } from '#storage/resource-storage.js';

/** The plugins in running order, and their metrics. */
export interface Admission {
  readonly admission: { readonly plugins: readonly AdmissionPlugin[]; readonly metrics: AdmissionMetrics };
  readonly clock: Clock;
}

/** The part of an operation that admission reads. */
export interface AdmissionSubject extends AdmissionScope {
  readonly registry: Admission & AdmissionScope['registry'];
}

/** An admission request for one object. */
export type AdmissionCall = Pick<
  AdmissionAttributes,
  'dryRun' | 'name' | 'namespace' | 'object' | 'oldObject' | 'operation' | 'options' | 'subresource'
>;

/** A call whose plugins may change the object. */
export interface MutatingCall extends AdmissionCall {
  readonly object?: Draft<ApiObjectShape>;
}

/** A class instead of an extended copy of the call: copying each member costs more than most plugins. */
class Attributes implements MutableAttributes {
  readonly operation: AdmissionOperation;
  readonly resource: ResourceDeclaration;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  readonly user: UserInfo;
  readonly dryRun: boolean;
  declare readonly object?: Draft<ApiObjectShape>;
  declare readonly oldObject?: ApiObjectShape;
  declare readonly options?: object;
  declare reinvocation?: Reinvocation;
  readonly scope: AdmissionScope;
  readonly #conditions: WriteCondition[];

  constructor(scope: AdmissionSubject, call: AdmissionCall, conditions: WriteCondition[]) {
    const { context, resource } = scope;
    this.operation = call.operation;
    this.resource = resource.declaration;
    this.subresource = call.subresource;
    this.namespace = call.namespace;
    this.name = call.name;
    this.user = context.user;
    this.dryRun = call.dryRun;
    // The type lets only mutating plugins change the object.
    if (call.object !== undefined) this.object = call.object as Draft<ApiObjectShape>;
    if (call.oldObject !== undefined) this.oldObject = call.oldObject;
    if (call.options !== undefined) this.options = call.options;
    this.scope = scope;
    this.#conditions = conditions;
  }

  /** Arrow functions, because plugins destructure them. */
  readonly warn = (text: string): void => warn(this.scope.context, text);
  readonly require = (condition: WriteCondition): void => void this.#conditions.push(condition);
}

/**
 * One pass over the plugins in order: `admit` may change `call.object`, `validate` sees the final object. Returns the
 * conditions of the write. Throws 400 for a dry run that reaches a plugin with side effects, and the plugins' refusals.
 */
export function runAdmission(
  type: 'admit',
  subject: AdmissionSubject,
  call: MutatingCall,
): Promise<readonly WriteCondition[]>;
export function runAdmission(
  type: 'validate',
  subject: AdmissionSubject,
  call: AdmissionCall,
): Promise<readonly WriteCondition[]>;
export async function runAdmission(
  type: AdmissionStep,
  subject: AdmissionSubject,
  call: AdmissionCall,
): Promise<readonly WriteCondition[]> {
  const { admission, clock } = subject.registry;
  const { plugins, metrics } = admission;
  const conditions: WriteCondition[] = [];
  const attributes = new Attributes(subject, call, conditions);
  const { operation } = attributes;
  const startedMs = clock.monotonic();
  let atMs = startedMs;
  let current = '';
  try {
    do {
      for (const plugin of concernedWith(plugins)(attributes.resource)) {
        // The first pass also checks plugins without `admit`, so that a dry run is refused before any side effect.
        if ((type === 'validate' && plugin.validate === undefined) || !plugin.handles(attributes)) continue;
        if (type === 'admit' && attributes.dryRun && plugin.sideEffects === true) {
          throw badRequest(`admission plugin ${JSON.stringify(plugin.name)} does not support dry run`);
        }
        if (plugin[type] === undefined) continue;
        current = plugin.name;
        const work = plugin[type](attributes);
        if (work instanceof Promise) await work;
        const nowMs = clock.monotonic();
        metrics.plugin(current, { type, operation, rejected: false }, nowMs - atMs);
        atMs = nowMs;
      }
    } while (attributes.reinvocation?.begins() === true);
    metrics.step(type, operation, false, atMs - startedMs);
    return conditions;
  } catch (error) {
    const nowMs = clock.monotonic();
    if (current !== '') metrics.plugin(current, { type, operation, rejected: true }, nowMs - atMs);
    metrics.step(type, operation, true, nowMs - startedMs);
    throw error;
  }
}

/** `admit` may change the object; `validate` sees the final one. */
type AdmissionStep = 'admit' | 'validate';

const buckets = [0.005, 0.025, 0.1, 0.5, 1, 2.5];

/** Admission metrics, named as in release 1.24. */
export class AdmissionMetrics {
  readonly #steps: PlainHistogram;
  readonly #summary: PlainSummary;
  readonly #plugins: PlainHistogram;

  constructor(registry: Registry, clock: Clock) {
    this.#steps = new PlainHistogram(registry, {
      name: 'apiserver_admission_step_admission_duration_seconds',
      help: '[STABLE] Admission sub-step latency histogram in seconds, broken out for each operation and API resource and step type (validate or admit).',
      labelNames: ['operation', 'rejected', 'type'],
      buckets,
    });
    this.#summary = new PlainSummary(registry, {
      name: 'apiserver_admission_step_admission_duration_seconds_summary',
      help: '[ALPHA] Admission sub-step latency summary in seconds, broken out for each operation and API resource and step type (validate or admit).',
      labelNames: ['operation', 'rejected', 'type'],
      quantiles: [0.5, 0.9, 0.99],
      maxAgeMs: 5 * 3_600_000,
      clock,
    });
    this.#plugins = new PlainHistogram(registry, {
      name: 'apiserver_admission_controller_admission_duration_seconds',
      help: '[STABLE] Admission controller latency histogram in seconds, identified by name and broken out for each operation and API resource and type (validate or admit).',
      labelNames: ['name', 'operation', 'rejected', 'type'],
      buckets,
    });
  }

  step(type: AdmissionStep, operation: AdmissionOperation, rejected: boolean, durationMs: number): void {
    const outcome = String(rejected);
    this.#steps.labels(operation, outcome, type).observe(durationMs / 1000);
    this.#summary.labels(operation, outcome, type).observe(durationMs / 1000);
  }

  plugin(
    name: string,
    { type, operation, rejected }: { type: AdmissionStep; operation: AdmissionOperation; rejected: boolean },
    durationMs: number,
  ): void {
    this.#plugins.labels(name, operation, String(rejected), type).observe(durationMs / 1000);
  }
}
