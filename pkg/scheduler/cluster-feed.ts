/** Brings what informers see of pods and nodes to the scheduler's cluster, its queue and its nominations. */
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
  /** Whether this scheduler places the pods of that `schedulerName`. */
  readonly serves: (schedulerName: string) => boolean;
}

export class ClusterFeed {
  readonly #options: ClusterFeedOptions;

  constructor(options: ClusterFeedOptions) {
    this.#options = options;
  }

  /** Until the function that it returns is called. */
  follow(): () => void {
    const { cluster, nodes, objects, pods, queue } = this.#options;
    const removes = [
      nodes.addHandler({
        onAdd: (node) => this.#nodeSeen(node),
        onUpdate: (node) => this.#nodeSeen(node),
        onDelete: (node) => cluster.removeNode(node.metadata.name ?? ''),
      }),
      pods.addHandler({
        onAdd: (pod) => this.#podSeen(pod, undefined),
        onUpdate: (pod, old) => this.#podSeen(pod, old),
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

  /** The pod as the API shows it now, undefined when there is nothing left to schedule. */
  current(queued: QueuedPod): Pod | undefined {
    const pod = this.#options.pods.get(queued.info.key);
    if (pod === undefined || !this.#waits(pod)) return undefined;
    return this.#options.cluster.isAssumed(pod.metadata.uid ?? '') ? undefined : pod;
  }

  /** The pod has given back room that it did not use after all; where it still waits, it is to be placed again. */
  expired({ key, uid }: PodInfo): void {
    const { pods, queue } = this.#options;
    queue.notify(['AssignedPodDelete']);
    const pod = pods.get(key);
    if (pod !== undefined && pod.metadata.uid === uid && this.#waits(pod)) queue.add(pod);
  }

  /** True for pods that this scheduler has to place. */
  #waits(pod: Pod): boolean {
    return (
      (pod.spec.nodeName ?? '') === '' &&
      pod.metadata.deletionTimestamp === undefined &&
      !isFinished(pod) &&
      this.#options.serves(pod.spec.schedulerName ?? '')
    );
  }

  #podSeen(pod: Pod, old: Pod | undefined): void {
    const { cluster, nominator, queue } = this.#options;
    if (old !== undefined && old.metadata.uid !== pod.metadata.uid) this.#podDeleted(old);
    if ((pod.spec.nodeName ?? '') !== '') {
      if (old !== undefined && (old.spec.nodeName ?? '') === '') queue.remove(pod);
      return this.#boundPod(pod, old);
    }
    if (!this.#waits(pod)) {
      nominator.remove(pod.metadata.uid ?? '');
      return queue.remove(pod);
    }
    this.#nominated(pod, old);
    if (cluster.isAssumed(pod.metadata.uid ?? '')) return;
    if (old === undefined || !this.#waits(old)) queue.add(pod);
    else queue.update(pod, JSON.stringify(pod.spec) !== JSON.stringify(old.spec));
  }

  #boundPod(pod: Pod, old: Pod | undefined): void {
    const { cluster, nominator, queue } = this.#options;
    nominator.remove(pod.metadata.uid ?? '');
    if (!isFinished(pod)) {
      cluster.setPod(pod);
      const bound = (old?.spec.nodeName ?? '') !== '';
      if (!bound) this.#assigned(podInfo(pod), 'AssignedPodAdd');
      else if (differ(pod.metadata.labels, old?.metadata.labels)) this.#assigned(podInfo(pod), 'AssignedPodUpdate');
      return;
    }
    cluster.removePod(pod.metadata.uid ?? '');
    queue.notify(['AssignedPodDelete']);
  }

  /** Nominations outlive the scheduler in the pods' statuses. */
  #nominated(pod: Pod, old: Pod | undefined): void {
    const { nominator } = this.#options;
    const node = pod.status?.nominatedNodeName ?? '';
    if (node === (old?.status?.nominatedNodeName ?? '')) return;
    if (node === '') nominator.remove(pod.metadata.uid ?? '');
    else nominator.add(podInfo(pod), node);
  }

  /** Helps those whose required affinity is about such a pod. */
  #assigned(pod: PodInfo, event: 'AssignedPodAdd' | 'AssignedPodUpdate'): void {
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

  #nodeSeen(node: Node): void {
    const events = this.#options.cluster.setNode(node);
    if (events.length > 0) this.#options.queue.notify(events);
  }
}

function isFinished(pod: Pod): boolean {
  return pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed';
}
