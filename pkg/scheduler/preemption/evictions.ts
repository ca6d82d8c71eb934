import { pods } from '#api/core/v1/resources.gen.js';
import { isConflict, isNotFound } from '#apimachinery/errors/status.js';
import type { Client } from '#client/client.js';
import type { EventRecorder } from '#client/events/recorder.js';
import { isTermOver } from '#client/leaderelection/term-over.js';
import type { Logger } from '#daemon/log/logger.js';
import type { PodInfo } from '#scheduler/cluster/pod-info.js';
import type { WaitingPods } from '#scheduler/framework/waiting-pods.js';
import type { Candidate } from '#scheduler/preemption/choice.js';
import type { Nominator } from '#scheduler/queue/nominator.js';

export interface EvictionsOptions {
  readonly client: Client;
  readonly recorder: EventRecorder;
  readonly nominator: Nominator;
  readonly log: Logger;
  readonly waitingPods: Pick<WaitingPods, 'get'>;
  /** A write was refused because this process does not lead any more. */
  readonly onTermOver: () => void;
}

/** Carries out preemptions. */
export class Evictions {
  readonly #options: EvictionsOptions;

  constructor(options: EvictionsOptions) {
    this.#options = options;
  }

  /**
   * Deletes the victims and takes the node from waiting pods that are less important. Never rejects: where a victim
   * stays, the pod loses its claim to the node and is tried again like any other.
   */
  async carryOut(pod: PodInfo, { node, victims }: Candidate, displaced: readonly PodInfo[]): Promise<void> {
    const { log, nominator, onTermOver } = this.#options;
    const evicted = await Promise.allSettled(victims.pods.map((victim) => this.#evict(victim, pod, node.name)));
    const failure = evicted.find((result) => result.status === 'rejected');
    if (failure !== undefined) {
      nominator.remove(pod.uid);
      if (isTermOver(failure.reason)) return onTermOver();
      log.warn({ err: failure.reason, pod: pod.key, node: node.name }, 'a pod could not be preempted');
    }
    await Promise.all(displaced.map((other) => this.#displace(other)));
  }

  async #evict({ pod: victim, uid }: PodInfo, { key }: PodInfo, node: string): Promise<void> {
    const { client, recorder, waitingPods } = this.#options;
    const waiting = waitingPods.get(uid);
    // It runs nowhere yet: it is enough that it does not come.
    if (waiting !== undefined) return waiting.reject('', 'preempted');
    const { name = '', namespace = '' } = victim.metadata;
    try {
      await client.resource(pods).delete(name, { namespace, preconditions: { uid } });
    } catch (error) {
      // It is gone, or another pod has its name.
      if (isNotFound(error) || (isConflict(error) && !isTermOver(error))) return;
      throw error;
    }
    recorder.record(victim, 'Normal', 'Preempted', `Preempted by ${key} on node ${node}`);
  }

  async #displace({ key, pod: { metadata }, uid }: PodInfo): Promise<void> {
    const { client, log, nominator } = this.#options;
    nominator.remove(uid);
    const { name = '', namespace = '' } = metadata;
    const patch = { metadata: { uid }, status: { nominatedNodeName: '' } };
    try {
      await client.resource(pods).patch(name, patch, { namespace, subresource: 'status', type: 'strategic' });
    } catch (error) {
      if (!isNotFound(error) && !isConflict(error)) log.warn({ err: error, pod: key }, 'nomination not taken back');
    }
  }
}
