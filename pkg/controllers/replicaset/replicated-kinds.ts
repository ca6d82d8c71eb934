/** The common interface of ReplicaSets and ReplicationControllers, which one controller handles. */
import { replicasets } from '#api/apps/v1/resources.gen.js';
import type { ReplicaSet, ReplicaSetCondition, ReplicaSetStatus } from '#api/apps/v1/types.gen.js';
import { replicationcontrollers } from '#api/core/v1/resources.gen.js';
import type { PodTemplateSpec, ReplicationController } from '#api/core/v1/types.gen.js';
import type { ResourceType } from '#apimachinery/schema/schema.js';
import { type LabelSelector, selectorFromLabels, selectorFromObject } from '#apimachinery/selectors/labels.js';
import type { ApiObject } from '#client/client.js';

export interface Replicated extends ApiObject {
  readonly spec: {
    readonly replicas?: number;
    readonly minReadySeconds?: number;
    readonly template?: PodTemplateSpec;
  };
  readonly status?: ReplicaSetStatus;
}

export type ReplicatedCondition = ReplicaSetCondition;

export interface ReplicatedKind<T extends Replicated> {
  readonly type: ResourceType<T>;
  /** The name in `--controllers`. */
  readonly controllerName: string;
  /** Throws 400 BadRequest for a malformed selector. */
  readonly selector: (object: T) => LabelSelector;
  readonly withStatus: (object: T, status: ReplicaSetStatus) => T;
}

export const replicaSetKind: ReplicatedKind<ReplicaSet> = {
  type: replicasets,
  controllerName: 'replicaset',
  selector: (object) => selectorFromObject(object.spec.selector),
  withStatus: (object, status) => ({ ...object, status }),
};

export const replicationControllerKind: ReplicatedKind<ReplicationController> = {
  type: replicationcontrollers,
  controllerName: 'replicationcontroller',
  selector: (object) => selectorFromLabels(object.spec.selector),
  withStatus: (object, status) => ({ ...object, status }),
};
