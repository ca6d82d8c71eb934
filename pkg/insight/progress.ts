/** Whether an object without a problem still changes. */
import type { DaemonSet, Deployment, ReplicaSet, StatefulSet } from '#api/apps/v1/types.gen.js';
import type { Job } from '#api/batch/v1/types.gen.js';
import type { PersistentVolumeClaim, Pod } from '#api/core/v1/types.gen.js';
import { isConditionTrue } from '#api/meta/v1/condition/conditions.js';
import type { StoredObject } from '#insight/inquiry/observations.js';
import { isPodFine } from '#insight/questions/pod.js';

const isClaimMoving = ({ status }: PersistentVolumeClaim) => status?.phase !== 'Bound';
const isSetMoving = ({ spec, status }: ReplicaSet) => (status?.availableReplicas ?? 0) !== (spec?.replicas ?? 1);
const isJobMoving = ({ status }: Job) =>
  !['Complete', 'Failed'].some((type) => isConditionTrue(status?.conditions, type));

function isDeploymentMoving({ spec, status }: Deployment): boolean {
  const desired = spec?.replicas ?? 1;
  const { updatedReplicas = 0, availableReplicas = 0, replicas = 0 } = status ?? {};
  return updatedReplicas !== desired || availableReplicas !== desired || replicas !== desired;
}

function isStatefulSetMoving({ spec, status }: StatefulSet): boolean {
  const { readyReplicas = 0, currentRevision, updateRevision } = status ?? {};
  return readyReplicas !== (spec?.replicas ?? 1) || currentRevision !== updateRevision;
}

function isDaemonSetMoving({ status }: DaemonSet): boolean {
  const { numberAvailable = 0, updatedNumberScheduled = 0, desiredNumberScheduled = 0 } = status ?? {};
  return numberAvailable !== desiredNumberScheduled || updatedNumberScheduled !== desiredNumberScheduled;
}

export function isInMotion(kind: string, object: StoredObject): boolean {
  if (object.metadata.deletionTimestamp !== undefined) return true;
  switch (kind) {
    case 'Pod':
      return !isPodFine(object as Pod);
    case 'PersistentVolumeClaim':
      return isClaimMoving(object as PersistentVolumeClaim);
    case 'ReplicaSet':
      return isSetMoving(object as ReplicaSet);
    case 'Deployment':
      return isDeploymentMoving(object as Deployment);
    case 'StatefulSet':
      return isStatefulSetMoving(object as StatefulSet);
    case 'DaemonSet':
      return isDaemonSetMoving(object as DaemonSet);
    case 'Job':
      return isJobMoving(object as Job);
  }
  return false;
}
