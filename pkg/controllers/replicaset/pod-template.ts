/** A pod made from a template. */

import type { Pod, PodTemplateSpec } from '#api/core/v1/types.gen.js';
import type { OwnMetadata } from '#api/meta/object.js';
import type { OwnerReference } from '#api/meta/v1/types.gen.js';
import type { Replaceable } from '#apimachinery/draft.js';

/** Longest name prefix to which the API server can add its random suffix and stay a legal name. */
const maxPrefixLength = 253;

/** The pod to create for `owner`; the API server completes its name. */
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
