/** What is done with a kind of its own below an object, or instead of one. */

import type { ApiResponse } from '#apiserver/http/exchange.js';
import type { Operation } from '#apiserver/registry/operation.js';
import type { ServedResource } from '#apiserver/resources/served-resource.js';
import { bindPod } from '#apiserver/subresources/binding.js';
import { evictPod } from '#apiserver/subresources/eviction.js';
import { serveScale } from '#apiserver/subresources/scale.js';

export type Handler = (operation: Operation) => Promise<ApiResponse>;

/** By resource and subresource, of the core group. */
const operations: Readonly<Record<string, Handler>> = {
  'pods/binding': bindPod,
  // The old form of the same.
  'bindings/': bindPod,
  'pods/eviction': evictPod,
};

/** Undefined where the subresource is a view of the object; of an empty name: where the resource is one of objects. */
export function operationOf({ group, declaration }: ServedResource, subresource: string): Handler | undefined {
  if (subresource === 'scale') return serveScale;
  return group === '' ? operations[`${declaration.resource}/${subresource}`] : undefined;
}
