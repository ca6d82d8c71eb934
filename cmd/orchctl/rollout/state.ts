/** The state of rollouts, with the messages of 1.24's clients. Pure. */
import type { DaemonSet, Deployment, StatefulSet } from '#api/apps/v1/types.gen.js';
import { CommandError } from '#cmd/orchctl/terminal/errors.js';

export interface RolloutState {
  readonly done: boolean;
  readonly message: string;
}

const waiting = (message: string): RolloutState => ({ done: false, message });
const complete = (message: string): RolloutState => ({ done: true, message });

/** Rollout state by kind. Throws a CommandError if the rollout cannot complete. */
export const rolloutStates = { Deployment: ofDeployment, DaemonSet: ofDaemonSet, StatefulSet: ofStatefulSet };

function ofDeployment({ metadata, spec, status: now }: Deployment): RolloutState {
  const name = metadata.name ?? '';
  const replicas = spec.replicas ?? 1;
  const updated = now?.updatedReplicas ?? 0;
  const available = now?.availableReplicas ?? 0;
  const total = now?.replicas ?? 0;
  const wait = `Waiting for deployment "${name}" rollout to finish:`;
  if ((metadata.generation ?? 0) > (now?.observedGeneration ?? 0)) {
    return waiting('Waiting for deployment spec update to be observed...');
  }
  const stuck = now?.conditions?.find((c) => c.type === 'Progressing' && c.reason === 'ProgressDeadlineExceeded');
  if (stuck !== undefined) throw new CommandError(`deployment "${name}" exceeded its progress deadline`);
  if (updated < replicas) return waiting(`${wait} ${updated} out of ${replicas} new replicas have been updated...`);
  if (total > updated) return waiting(`${wait} ${total - updated} old replicas are pending termination...`);
  if (available < updated) return waiting(`${wait} ${available} of ${updated} updated replicas are available...`);
  return complete(`deployment "${name}" successfully rolled out`);
}

function ofDaemonSet({ metadata, spec, status }: DaemonSet): RolloutState {
  refuseUnlessRolling(spec.updateStrategy?.type);
  const name = metadata.name ?? '';
  const wait = `Waiting for daemon set "${name}" rollout to finish:`;
  if (status === undefined || (metadata.generation ?? 0) > (status.observedGeneration ?? 0)) {
    return waiting('Waiting for daemon set spec update to be observed...');
  }
  const {
    desiredNumberScheduled: desired,
    updatedNumberScheduled: updated = 0,
    numberAvailable: available = 0,
  } = status;
  if (updated < desired) return waiting(`${wait} ${updated} out of ${desired} new pods have been updated...`);
  if (available < desired) return waiting(`${wait} ${available} of ${desired} updated pods are available...`);
  return complete(`daemon set "${name}" successfully rolled out`);
}

function ofStatefulSet({ metadata, spec, status }: StatefulSet): RolloutState {
  refuseUnlessRolling(spec.updateStrategy?.type);
  const observed = status?.observedGeneration ?? 0;
  if (status === undefined || observed === 0 || (metadata.generation ?? 0) > observed) {
    return waiting('Waiting for statefulset spec update to be observed...');
  }
  const { updatedReplicas: updated = 0, updateRevision = '', currentRevision = '' } = status;
  const replicas = spec.replicas ?? 1;
  const unready = replicas - (status.readyReplicas ?? 0);
  if (unready > 0) return waiting(`Waiting for ${unready} pods to be ready...`);
  const partition = spec.updateStrategy?.rollingUpdate?.partition ?? 0;
  if (partition > 0) {
    if (updated >= replicas - partition) {
      return complete(`partitioned roll out complete: ${updated} new pods have been updated...`);
    }
    return waiting(
      `Waiting for partitioned roll out to finish: ${updated} out of ${replicas - partition} new pods have been updated...`,
    );
  }
  if (updateRevision !== currentRevision) {
    return waiting(
      `waiting for statefulset rolling update to complete ${updated} pods at revision ${updateRevision}...`,
    );
  }
  return complete(
    `statefulset rolling update complete ${status.currentReplicas ?? 0} pods at revision ${currentRevision}...`,
  );
}

function refuseUnlessRolling(type: string | undefined): void {
  if (type !== 'RollingUpdate') {
    throw new CommandError('rollout status is only available for RollingUpdate strategy type');
  }
}
