/** Runs the admission plugins of a write. */
import type { ApiObjectShape } from '#api/object.js';
import { badRequest } from '#apimachinery/errors/status.js';
import type { AdmissionAttributes, AdmissionOperation } from '#apiserver/admission/admission.js';
import { type RequestContext, warn } from '#apiserver/http/context.js';
import type { RegistryContext } from '#apiserver/registry/registry-context.js';
import type { ServedResource } from '#apiserver/registry/served-resource.js';

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
export async function mutatingAdmission(
  registry: RegistryContext,
  context: RequestContext,
  resource: ServedResource,
  call: AdmissionCall,
): Promise<void> {
  const attributes = attributesOf(context, resource, call);
  for (const plugin of registry.admission) {
    if (!plugin.handles(attributes)) continue;
    if (call.dryRun && plugin.sideEffects === true) {
      throw badRequest(`admission plugin ${JSON.stringify(plugin.name)} does not support dry run`);
    }
    await plugin.admit?.(attributes);
  }
}

/** Second pass: sees the final object. */
export async function validatingAdmission(
  registry: RegistryContext,
  context: RequestContext,
  resource: ServedResource,
  call: AdmissionCall,
): Promise<void> {
  const attributes = attributesOf(context, resource, call);
  for (const plugin of registry.admission) {
    if (plugin.validate !== undefined && plugin.handles(attributes)) await plugin.validate(attributes);
  }
}
