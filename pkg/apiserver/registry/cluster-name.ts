/** `metadata.clusterName`, which 1.24 reads and does not keep any more. */

import type { ObjectMeta } from '#api/meta/v1/types.gen.js';
import type { Draft } from '#apimachinery/draft.js';
import { type RequestContext, warn } from '#apiserver/http/context.js';

/** Takes the name away, in place, and tells the client. */
export function dropClusterName(context: RequestContext, metadata: Draft<ObjectMeta>): void {
  const { clusterName } = metadata;
  if (clusterName === undefined) return;
  delete metadata.clusterName;
  if (clusterName === '') return;
  const text = 'This field is not preserved and will be removed from the schema in 1.25';
  warn(context, `metadata.clusterName was specified. ${text}`);
}
