/** Which controllers there are, and how each is made from the manager's options. */

import { ClusterRoleAggregationController } from '#controllers/clusterroleaggregation/controller.js';
import { DeploymentController } from '#controllers/deployment/controller.js';
import { EndpointController } from '#controllers/endpoint/controller.js';
import { EndpointSliceController } from '#controllers/endpointslice/controller.js';
import { EndpointSliceMirroringController } from '#controllers/endpointslicemirroring/controller.js';
import type { Controller, ControllerContext } from '#controllers/framework/context.js';
import { GarbageCollector } from '#controllers/garbagecollector/controller.js';
import { NamespaceController } from '#controllers/namespace/controller.js';
import { NodeLifecycleController } from '#controllers/nodelifecycle/controller.js';
import type { ControllerManagerValues } from '#controllers/options/options.js';
import { PodGCController } from '#controllers/podgc/controller.js';
import { ReplicaSetController } from '#controllers/replicaset/controller.js';
import { replicaSetKind, replicationControllerKind } from '#controllers/replicaset/replicated.js';
import { RootCAController } from '#controllers/rootca/controller.js';
import { ServiceAccountController } from '#controllers/serviceaccount/controller.js';

export interface ControllerInputs {
  readonly values: ControllerManagerValues;
  /** PEM bundle that verifies the API server; without it, it is not published. */
  readonly rootCA: string | undefined;
}

/** Makes the controller; undefined when the options leave it nothing to do. */
export type ControllerFactory = (context: ControllerContext, inputs: ControllerInputs) => Controller | undefined;

/** By name of `--controllers`. Names of 1.24 that are not here are not written yet. */
export const controllerFactories: Readonly<Record<string, ControllerFactory>> = {
  'clusterrole-aggregation': (context) => new ClusterRoleAggregationController(context),
  deployment: (context, { values }) =>
    new DeploymentController(context, { concurrency: values['concurrent-deployment-syncs'] }),
  endpoint: (context, { values }) =>
    new EndpointController(context, {
      concurrency: values['concurrent-endpoint-syncs'],
      batchPeriodMs: values['endpoint-updates-batch-period'],
    }),
  endpointslice: (context, { values }) =>
    new EndpointSliceController(context, {
      concurrency: values['concurrent-service-endpoint-syncs'],
      batchPeriodMs: values['endpointslice-updates-batch-period'],
      maxEndpointsPerSlice: values['max-endpoints-per-slice'],
    }),
  endpointslicemirroring: (context, { values }) =>
    new EndpointSliceMirroringController(context, {
      concurrency: values['mirroring-concurrent-service-endpoint-syncs'],
      batchPeriodMs: values['mirroring-endpointslice-updates-batch-period'],
      maxEndpointsPerSubset: values['mirroring-max-endpoints-per-subset'],
    }),
  garbagecollector: (context, { values }) =>
    values['enable-garbage-collector']
      ? new GarbageCollector(context, { concurrency: values['concurrent-gc-syncs'] })
      : undefined,
  namespace: (context, { values }) =>
    new NamespaceController(context, { concurrency: values['concurrent-namespace-syncs'] }),
  nodelifecycle: (context, { values }) =>
    new NodeLifecycleController(context, {
      grace: { runningMs: values['node-monitor-grace-period'], startupMs: values['node-startup-grace-period'] },
      monitorPeriodMs: values['node-monitor-period'],
      zones: {
        evictionRate: values['node-eviction-rate'],
        secondaryEvictionRate: values['secondary-node-eviction-rate'],
        largeClusterSize: values['large-cluster-size-threshold'],
        unhealthyThreshold: values['unhealthy-zone-threshold'],
      },
      taintManager: values['enable-taint-manager'],
    }),
  podgc: (context, { values }) =>
    new PodGCController(context, { terminatedThreshold: values['terminated-pod-gc-threshold'] }),
  replicaset: (context, { values }) =>
    new ReplicaSetController(context, replicaSetKind, { concurrency: values['concurrent-replicaset-syncs'] }),
  replicationcontroller: (context, { values }) =>
    new ReplicaSetController(context, replicationControllerKind, { concurrency: values['concurrent-rc-syncs'] }),
  'root-ca-cert-publisher': (context, { rootCA }) =>
    rootCA === undefined ? undefined : new RootCAController(context, { rootCA }),
  serviceaccount: (context) => new ServiceAccountController(context),
};
