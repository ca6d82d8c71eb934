/** Passes informer events for pods and nodes on to the cluster, the queue and the nominator. */
import type { Node, Pod } from '#api/core/v1/types.gen.js';
import type { Informer } from '#client/informer/informer.js';
import type { Cluster } from '#scheduler/cluster/cluster.js';
import { differ } from '#scheduler/cluster/events.js';
import type { LiveObjects } from '#scheduler/cluster/live-objects.js';
import { type PodInfo, podInfo } from '#scheduler/cluster/pod-info.js';
import type { WaitingPods } from '#scheduler/framework/waiting-pods.js';
import type { Nominator } from '#scheduler/queue/nominator.js';
import type { QueuedPod, SchedulingQueue } from '#scheduler/queue/scheduling-queue.js';

export interface ClusterFeedOptions {
  readonly pods: Informer<Pod>;
  readonly nodes: Informer<Node>;
  readonly objects: LiveObjects;
  readonly cluster: Cluster;
  readonly queue: SchedulingQueue;
  readonly nominator: Nominator;
  readonly waitingPods: Pick<WaitingPods, 'get'>;
  /** Whether a profile of this scheduler has that `schedulerName`. */
  readonly serves: (schedulerName: string) => boolean;
}

export class ClusterFeed {
  readonly #options: ClusterFeedOptions;

  constructor(options: ClusterFeedOptions) {
    this.#options = options;
  }

  /** Follows the informers until the returned function is called. */
  follow(): () => void {
    const { cluster, nodes, objects, pods, queue } = this.#options;
    const removes = [
      nodes.addHandler({
        onAdd: (node) => this.#setNode(node),
        onUpdate: (node) => this.#setNode(node),
        onDelete: (node) => cluster.removeNode(node.metadata.name ?? ''),
      }),
      pods.addHandler({
        onAdd: (pod) => this.#setPod(pod, undefined),
        onUpdate: (pod, old) => this.#setPod(pod, old),
        onDelete: (pod) => this.#podDeleted(pod),
      }),
      objects.storage.follow((event) => queue.notify([event])),
      objects.follow(() => {
        cluster.epoch++;
      }),
    ];
    return () => {
      for (const remove of removes) remove();
    };
  }

  /** The pod's current version in the cache; undefined if it no longer needs scheduling. */
  current(queued: QueuedPod): Pod | undefined {
    const pod = this.#options.pods.get(queued.info.key);
    if (pod === undefined || !this.#needsScheduling(pod)) return undefined;
    return this.#options.cluster.isAssumed(pod.metadata.uid ?? '') ? undefined : pod;
  }

  /** Frees the expired pod's room, and queues the pod again if it is still unbound. */
  handleExpired({ key, uid }: PodInfo): void {
    const { pods, queue } = this.#options;
    queue.notify(['AssignedPodDelete']);
    const pod = pods.get(key);
    if (pod !== undefined && pod.metadata.uid === uid && this.#needsScheduling(pod)) queue.add(pod);
  }

  /** Whether this scheduler has to place the pod. */
  #needsScheduling(pod: Pod): boolean {
    return (
      (pod.spec.nodeName ?? '') === '' &&
      pod.metadata.deletionTimestamp === undefined &&
      !isFinished(pod) &&
      this.#options.serves(pod.spec.schedulerName ?? '')
    );
  }

  #setPod(pod: Pod, old: Pod | undefined): void {
    const { cluster, nominator, queue } = this.#options;
    if (old !== undefined && old.metadata.uid !== pod.metadata.uid) this.#podDeleted(old);
    if ((pod.spec.nodeName ?? '') !== '') {
      if (old !== undefined && (old.spec.nodeName ?? '') === '') queue.remove(pod);
      return this.#setBoundPod(pod, old);
    }
    if (!this.#needsScheduling(pod)) {
      nominator.remove(pod.metadata.uid ?? '');
      return queue.remove(pod);
    }
    this.#updateNomination(pod, old);
    if (cluster.isAssumed(pod.metadata.uid ?? '')) return;
    if (old === undefined || !this.#needsScheduling(old)) queue.add(pod);
    else queue.update(pod, JSON.stringify(pod.spec) !== JSON.stringify(old.spec));
  }

  #setBoundPod(pod: Pod, old: Pod | undefined): void {
    const { cluster, nominator, queue } = this.#options;
    nominator.remove(pod.metadata.uid ?? '');
    if (!isFinished(pod)) {
      cluster.setPod(pod);
      const wasBound = (old?.spec.nodeName ?? '') !== '';
      if (!wasBound) this.#notifyAssigned(podInfo(pod), 'AssignedPodAdd');
      else if (differ(pod.metadata.labels, old?.metadata.labels))
        this.#notifyAssigned(podInfo(pod), 'AssignedPodUpdate');
      return;
    }
    cluster.removePod(pod.metadata.uid ?? '');
    queue.notify(['AssignedPodDelete']);
  }

  /** Restores nominations from pod statuses, so that they survive a restart of the scheduler. */
  #updateNomination(pod: Pod, old: Pod | undefined): void {
    const { nominator } = this.#options;
    const node = pod.status?.nominatedNodeName ?? '';
    if (node === (old?.status?.nominatedNodeName ?? '')) return;
    if (node === '') nominator.remove(pod.metadata.uid ?? '');
    else nominator.add(podInfo(pod), node);
  }

  /** Wakes pods whose required affinity matches the assigned pod. */
  #notifyAssigned(pod: PodInfo, event: 'AssignedPodAdd' | 'AssignedPodUpdate'): void {
    const { namespaceLabels } = this.#options.objects;
    this.#options.queue.notify([event], ({ terms }) =>
      terms.requiredAffinity.some((term) => term.matches(pod, namespaceLabels)),
    );
  }

  #podDeleted(pod: Pod): void {
    const { cluster, nominator, queue, waitingPods } = this.#options;
    nominator.remove(pod.metadata.uid ?? '');
    waitingPods.get(pod.metadata.uid ?? '')?.reject('', 'removed');
    queue.remove(pod);
    cluster.removePod(pod.metadata.uid ?? '');
    if ((pod.spec.nodeName ?? '') !== '') queue.notify(['AssignedPodDelete']);
  }

  #setNode(node: Node): void {
    const events = this.#options.cluster.setNode(node);
    if (events.length > 0) this.#options.queue.notify(events);
  }
}

function isFinished(pod: Pod): boolean {
  return pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed';
}
