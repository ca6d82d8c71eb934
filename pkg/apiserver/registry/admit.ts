/** Runs the admission plugins of a write. */
import type { ApiObjectShape } from '#api/object.js';
import type { Clock } from '#apimachinery/clock.js';
import { badRequest } from '#apimachinery/errors/status.js';
import type { AdmissionAttributes, AdmissionOperation, AdmissionPlugin } from '#apiserver/admission/admission.js';
import type { AdmissionMetrics, AdmissionStep } from '#apiserver/admission/metrics.js';
import { type RequestContext, warn } from '#apiserver/http/context.js';
import type { ServedResource } from '#apiserver/resources/served-resource.js';

/** The plugins, in the order in which they run, and what counts them. */
export interface Admission {
  readonly admission: readonly AdmissionPlugin[];
  readonly admissionMetrics: AdmissionMetrics;
  readonly clock: Clock;
}

/** The part of an operation that admission looks at. */
export interface AdmissionSubject {
  readonly registry: Admission;
  readonly context: Pick<RequestContext, 'user' | 'warnings'>;
  readonly resource: Pick<ServedResource, 'declaration'>;
}

export interface AdmissionCall {
  readonly operation: AdmissionOperation;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  readonly dryRun: boolean;
  readonly object?: ApiObjectShape;
  readonly oldObject?: ApiObjectShape;
}

function attributesOf({ context, resource }: AdmissionSubject, call: AdmissionCall): AdmissionAttributes {
  return { ...call, resource: resource.declaration, user: context.user, warn: (text) => warn(context, text) };
}

/**
 * One pass over the plugins, in their order: the first (`admit`) may change `call.object`, the second (`validate`) sees
 * the final object. Throws 400 for dry runs of plugins with side effects, and what they refuse.
 */
export async function runAdmission(type: AdmissionStep, subject: AdmissionSubject, call: AdmissionCall): Promise<void> {
  const { admission, admissionMetrics: metrics, clock } = subject.registry;
  const attributes = attributesOf(subject, call);
  const { operation } = attributes;
  const startedMs = clock.monotonic();
  let atMs = startedMs;
  let current = '';
  try {
    for (const plugin of admission) {
      // Only the first pass asks those that have nothing to do in it: a dry run must not reach their side effects.
      if ((type === 'validate' && plugin.validate === undefined) || !plugin.handles(attributes)) continue;
      if (type === 'admit' && attributes.dryRun && plugin.sideEffects === true) {
        throw badRequest(`admission plugin ${JSON.stringify(plugin.name)} does not support dry run`);
      }
      if (plugin[type] === undefined) continue;
      current = plugin.name;
      await plugin[type](attributes);
      const nowMs = clock.monotonic();
      metrics.plugin(current, { type, operation, rejected: false }, nowMs - atMs);
      atMs = nowMs;
    }
    metrics.step(type, operation, false, atMs - startedMs);
  } catch (error) {
    const nowMs = clock.monotonic();
    if (current !== '') metrics.plugin(current, { type, operation, rejected: true }, nowMs - atMs);
    metrics.step(type, operation, true, nowMs - startedMs);
    throw error;
  }
}
