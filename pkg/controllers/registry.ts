/** Which controllers there are, and how each is made from the manager's options. */

import { DeploymentController } from '#controllers/deployment/controller.js';
import type { Controller, ControllerContext } from '#controllers/framework/context.js';
import type { ControllerManagerValues } from '#controllers/options/options.js';
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
  deployment: (context, { values }) =>
    new DeploymentController(context, { concurrency: values['concurrent-deployment-syncs'] }),
  replicaset: (context, { values }) =>
    new ReplicaSetController(context, replicaSetKind, { concurrency: values['concurrent-replicaset-syncs'] }),
  replicationcontroller: (context, { values }) =>
    new ReplicaSetController(context, replicationControllerKind, { concurrency: values['concurrent-rc-syncs'] }),
  'root-ca-cert-publisher': (context, { rootCA }) =>
    rootCA === undefined ? undefined : new RootCAController(context, { rootCA }),
  serviceaccount: (context) => new ServiceAccountController(context),
};
