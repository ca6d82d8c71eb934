import { pods } from '#api/core/v1/resources.gen.js';
import { isConflict, isNotFound } from '#apimachinery/errors/status.js';
import type { Client } from '#client/client.js';
import type { EventRecorder } from '#client/events/recorder.js';
import { isTermOver } from '#client/leaderelection/term-over.js';
import type { Logger } from '#daemon/log/logger.js';
import type { PodInfo } from '#scheduler/cluster/pod-info.js';
import type { WaitingPods } from '#scheduler/framework/waiting-pods.js';
import type { Candidate } from '#scheduler/preemption/victims.js';
import type { Nominator } from '#scheduler/queue/nominator.js';

export interface EvictionsOptions {
  readonly client: Client;
  readonly recorder: EventRecorder;
  readonly nominator: Nominator;
  readonly log: Logger;
  readonly waitingPods: Pick<WaitingPods, 'get'>;
  /** Called when a write is refused because this process no longer leads. */
  readonly onTermOver: () => void;
}

/** Carries out preemptions through the API. */
export class Evictions {
  readonly #options: EvictionsOptions;

  constructor(options: EvictionsOptions) {
    this.#options = options;
  }

  /**
   * Deletes the victims and removes nominations of less important pods to the node. Never rejects: if a victim stays, the
   * pod loses its nomination and is retried like any other.
   */
  async carryOut(pod: PodInfo, { node, victims }: Candidate, displaced: readonly PodInfo[]): Promise<void> {
    const { log, nominator, onTermOver } = this.#options;
    const evicted = await Promise.allSettled(victims.pods.map((victim) => this.#evict(victim, pod, node.name)));
    const failure = evicted.find((result) => result.status === 'rejected');
    if (failure !== undefined) {
      nominator.remove(pod.uid);
      if (isTermOver(failure.reason)) return onTermOver();
      log.warn({ err: failure.reason, pod: pod.key, node: node.name }, 'cannot evict victim: nomination withdrawn');
    }
    await Promise.all(displaced.map((other) => this.#displace(other)));
  }

  async #evict({ pod: victim, uid }: PodInfo, { key }: PodInfo, node: string): Promise<void> {
    const { client, recorder, waitingPods } = this.#options;
    const waiting = waitingPods.get(uid);
    // The victim is not bound yet: rejecting its binding suffices.
    if (waiting !== undefined) return waiting.reject('', 'preempted');
    const { name = '', namespace = '' } = victim.metadata;
    try {
      await client.resource(pods).delete(name, { namespace, preconditions: { uid } });
    } catch (error) {
      // The victim is gone, or another pod has its name.
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
      if (!isNotFound(error) && !isConflict(error))
        log.warn({ err: error, pod: key }, 'cannot clear nomination of displaced pod');
    }
  }
}
