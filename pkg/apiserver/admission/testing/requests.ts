/** Requests for tests of single admission plugins. */
import type { ApiObjectShape } from '#api/meta/object.js';
import type { ResourceDeclaration } from '#apimachinery/schema/schema.js';
import type { AdmissionAttributes, AdmissionPlugin, MutableAttributes } from '#apiserver/admission/admission.js';

/** A creation by alice in the namespace `ns`, unless `more` says otherwise. */
export function requestFor(resource: ResourceDeclaration, more: Partial<AdmissionAttributes>): MutableAttributes {
  return {
    operation: 'CREATE',
    resource,
    subresource: '',
    namespace: resource.namespaced ? 'ns' : '',
    name: more.object?.metadata.name ?? '',
    user: { name: 'alice', groups: [] },
    dryRun: false,
    warn: () => undefined,
    require: () => undefined,
    ...more,
  } as MutableAttributes;
}

/** Both passes of the plugin, as the server runs them. Rejects with the plugin's refusal. */
export async function runPlugin(plugin: AdmissionPlugin, attributes: MutableAttributes): Promise<void> {
  if (!plugin.handles(attributes)) return;
  await plugin.admit?.(attributes);
  await plugin.validate?.(attributes);
}

/** `admitted`, or code and message of the refusal: `403 pods "p" is forbidden: …`. */
export async function outcomeOf(
  plugin: AdmissionPlugin,
  resource: ResourceDeclaration,
  more: Partial<AdmissionAttributes> & { readonly object?: ApiObjectShape },
): Promise<string> {
  try {
    await runPlugin(plugin, requestFor(resource, more));
    return 'admitted';
  } catch (error) {
    const { code, message } = error as { readonly code?: number; readonly message: string };
    return `${code} ${message}`;
  }
}
