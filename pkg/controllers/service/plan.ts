/** Decisions about services and their load balancers. Pure. */

import { getNodeCondition } from '#api/core/v1/node/conditions.js';
import type { LoadBalancerStatus, Node, Service } from '#api/core/v1/types.gen.js';
import { semanticEqual } from '#apimachinery/equality.js';
import type { Annotations } from '#cloud/provider/provider.js';

/** Whether the service has the finalizer but is deleted or no longer of type LoadBalancer. */
export function needsCleanup({ metadata, spec }: Service, finalizer: string): boolean {
  if (!(metadata.finalizers?.includes(finalizer) ?? false)) return false;
  return metadata.deletionTimestamp !== undefined || spec.type !== 'LoadBalancer';
}

/** Whether the change may affect which nodes receive traffic. */
export function isHostChange(old: Node, node: Node): boolean {
  if ((old.spec.unschedulable ?? false) !== (node.spec.unschedulable ?? false)) return true;
  if (!semanticEqual(old.metadata.labels ?? {}, node.metadata.labels ?? {})) return true;
  return getNodeCondition(old.status, 'Ready')?.status !== getNodeCondition(node.status, 'Ready')?.status;
}

export interface ServiceEdit {
  readonly finalizers?: readonly string[];
  readonly annotations?: Annotations;
  readonly loadBalancer?: LoadBalancerStatus;
}

/** Applies the edit; undefined when nothing changes. */
export function edited(service: Service, { finalizers, annotations, loadBalancer }: ServiceEdit): Service | undefined {
  const metadata = { ...service.metadata };
  if (finalizers !== undefined) metadata.finalizers = [...finalizers];
  if (annotations !== undefined) {
    const all = Object.entries({ ...metadata.annotations, ...annotations });
    metadata.annotations = Object.fromEntries(all.filter((entry): entry is [string, string] => entry[1] !== undefined));
  }
  const status = loadBalancer === undefined ? service.status : { ...service.status, loadBalancer };
  const isSame =
    semanticEqual(metadata.finalizers ?? [], service.metadata.finalizers ?? []) &&
    semanticEqual(metadata.annotations ?? {}, service.metadata.annotations ?? {}) &&
    semanticEqual(status?.loadBalancer ?? {}, service.status?.loadBalancer ?? {});
  return isSame ? undefined : { ...service, metadata, ...(status === undefined ? {} : { status }) };
}
