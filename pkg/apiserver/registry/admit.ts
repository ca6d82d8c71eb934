/** Runs the admission plugins of a write. */
import type { ApiObjectShape } from '#api/object.js';
import { badRequest } from '#apimachinery/errors/status.js';
import type { AdmissionAttributes, AdmissionOperation } from '#apiserver/admission/admission.js';
import type { AdmissionStep } from '#apiserver/admission/metrics.js';
import { type RequestContext, warn } from '#apiserver/http/context.js';
import type { RegistryContext } from '#apiserver/registry/registry-context.js';
import type { ServedResource } from '#apiserver/resources/served-resource.js';

export interface AdmissionCall {
  readonly operation: AdmissionOperation;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  readonly dryRun: boolean;
  readonly object?: ApiObjectShape;
  readonly oldObject?: ApiObjectShape;
}

function attributesOf(context: RequestContext, resource: ServedResource, call: AdmissionCall): AdmissionAttributes {
  return { ...call, resource: resource.declaration, user: context.user, warn: (text) => warn(context, text) };
}

/** First pass, in the plugins' order; they may change `call.object`. Throws 400 for dry runs of plugins with side effects. */
export function mutatingAdmission(
  registry: RegistryContext,
  context: RequestContext,
  resource: ServedResource,
  call: AdmissionCall,
): Promise<void> {
  return runStep('admit', registry, attributesOf(context, resource, call));
}

/** Second pass: sees the final object. */
export function validatingAdmission(
  registry: RegistryContext,
  context: RequestContext,
  resource: ServedResource,
  call: AdmissionCall,
): Promise<void> {
  return runStep('validate', registry, attributesOf(context, resource, call));
}

async function runStep(
  type: AdmissionStep,
  { admission, admissionMetrics: metrics, clock }: RegistryContext,
  attributes: AdmissionAttributes,
): Promise<void> {
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
