/** The kinds of compared objects. */
import { controllerrevisions, daemonsets, deployments, replicasets, statefulsets } from '#api/apps/v1/resources.gen.js';
import { horizontalpodautoscalers } from '#api/autoscaling/v2/resources.gen.js';
import { cronjobs, jobs } from '#api/batch/v1/resources.gen.js';
import {
  configmaps,
  endpoints,
  events,
  namespaces,
  nodes,
  persistentvolumeclaims,
  persistentvolumes,
  pods,
  replicationcontrollers,
  resourcequotas,
  secrets,
  serviceaccounts,
  services,
} from '#api/core/v1/resources.gen.js';
import { endpointslices } from '#api/discovery/v1/resources.gen.js';
import { poddisruptionbudgets } from '#api/policy/v1/resources.gen.js';
import { clusterroles } from '#api/rbac/v1/resources.gen.js';
import type { ResourceType } from '#apimachinery/schema/schema.js';
import type { ApiObject } from '#client/client.js';

type AnyType = ResourceType<ApiObject>;

export const observedKinds = [
  clusterroles,
  configmaps,
  controllerrevisions,
  cronjobs,
  daemonsets,
  deployments,
  endpoints,
  endpointslices,
  events,
  horizontalpodautoscalers,
  jobs,
  namespaces,
  nodes,
  persistentvolumeclaims,
  persistentvolumes,
  poddisruptionbudgets,
  pods,
  replicasets,
  replicationcontrollers,
  resourcequotas,
  secrets,
  serviceaccounts,
  services,
  statefulsets,
] as readonly unknown[] as readonly AnyType[];

const byKind = new Map(observedKinds.map((type) => [type.kind, type]));

/** Throws for other kinds. */
export function typeOfKind(kind: string): AnyType {
  const type = byKind.get(kind);
  if (type === undefined) throw new Error(`no kind ${kind} is observed`);
  return type;
}
