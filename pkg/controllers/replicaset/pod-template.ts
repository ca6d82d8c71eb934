/** Creates pods from templates. */

import type { Pod, PodTemplateSpec } from '#api/core/v1/types.gen.js';
import type { OwnMetadata } from '#api/meta/object.js';
import type { OwnerReference } from '#api/meta/v1/types.gen.js';
import type { Replaceable } from '#apimachinery/draft.js';

/** The maximum length of a name prefix. */
const maxPrefixLength = 253;

/** The API server completes the pod's name. */
export function podFromTemplate(
  template: PodTemplateSpec,
  owner: { readonly name: string; readonly namespace: string },
  reference: OwnerReference,
): Replaceable<Omit<Pod, 'metadata'>> & OwnMetadata {
  const { labels, annotations, finalizers } = template.metadata ?? {};
  const prefix = `${owner.name}-`;
  return {
    metadata: {
      generateName: prefix.length > maxPrefixLength ? owner.name : prefix,
      namespace: owner.namespace,
      ...(labels === undefined ? {} : { labels }),
      ...(annotations === undefined ? {} : { annotations }),
      ...(finalizers === undefined ? {} : { finalizers }),
      ownerReferences: [reference],
    },
    spec: template.spec ?? { containers: [] },
  };
}
