import type { Node, PersistentVolume, PersistentVolumeClaim, Pod } from '#api/core/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { mergePatch } from '#apimachinery/patch/merge-patch.js';
import type { NodeInfo } from '#scheduler/cluster/node-info.js';
import { type PodInfo, podInfo } from '#scheduler/cluster/pod-info.js';
import type { Refusal } from '#scheduler/decision/prepared-filter.js';
import type { Change } from '#scheduler/explain/explanation.js';
import type { ClusterCopy } from '#scheduler/explain/snapshot.js';
import type { Profile } from '#scheduler/framework/profile.js';

/** Changes tried on a copy for one pod and one node; undone afterwards. */
export class Trial {
  readonly copy: ClusterCopy;
  readonly dialect: Dialect;
  readonly profile: Profile;
  readonly #changes: Change[] = [];
  readonly #undo: (() => void)[] = [];
  readonly #nodeName: string;
  #pod: Pod;
  #info: PodInfo;
  #replaced = false;

  constructor(copy: ClusterCopy, dialect: Dialect, profile: Profile, pod: Pod, node: string) {
    this.copy = copy;
    this.dialect = dialect;
    this.profile = profile;
    this.#pod = pod;
    this.#info = podInfo(pod);
    this.#nodeName = node;
  }

  get pod(): Pod {
    return this.#pod;
  }

  get info(): PodInfo {
    return this.#info;
  }

  get node(): NodeInfo {
    const node = this.copy.cluster.node(this.#nodeName);
    if (node === undefined) throw new Error(`node ${this.#nodeName} is not in the copy`);
    return node;
  }

  get changes(): Change[] {
    return [
      ...this.#changes,
      ...(this.#replaced ? [{ action: 'replace', object: manifestOf(this.#pod) } as const] : []),
    ];
  }

  refusal(): Refusal | undefined {
    return this.copy.decision(this.#info, this.profile)(this.node);
  }

  /** Replaces the pod, which deletes and recreates it. */
  replacePod(pod: Pod): void {
    this.#setPod(pod);
    this.#replaced = true;
  }

  /** Patches one of the few mutable fields of a pod. */
  patchPod(patch: object): void {
    this.#setPod(mergePatch(this.#pod, patch) as Pod);
    this.#changes.push({ action: 'patch', apiVersion: 'v1', kind: 'Pod', ...nameOf(this.#pod), patch });
  }

  #setPod(pod: Pod): void {
    this.#pod = pod;
    this.#info = podInfo(pod);
  }

  /** `followUp`: changes that the control plane then makes itself. */
  patchNode(patch: object, followUp: object = {}): void {
    const { node } = this.node;
    if (node === undefined) throw new Error(`node ${this.#nodeName} has no object`);
    this.copy.cluster.setNode(mergePatch(mergePatch(node, patch), followUp) as Node);
    this.#undo.push(() => this.copy.cluster.setNode(node));
    this.#changes.push({ action: 'patch', apiVersion: 'v1', kind: 'Node', name: this.#nodeName, patch });
  }

  /** Deletes a pod from this node or another. */
  removePod(pod: PodInfo, node = this.#nodeName): void {
    const { cluster } = this.copy;
    cluster.removePod(pod.uid);
    this.#undo.push(() => cluster.assume(pod, node));
    this.#changes.push({ action: 'delete', apiVersion: 'v1', kind: 'Pod', ...nameOf(pod.pod) });
  }

  createClaim(claim: PersistentVolumeClaim): void {
    this.copy.objects.storage.setClaim(claim);
    this.#changes.push({ action: 'create', object: claim });
  }

  /** Creates a volume for the claim; the control plane binds them. */
  createVolume(volume: PersistentVolume, claim: PersistentVolumeClaim): void {
    const { storage } = this.copy.objects;
    storage.setVolume(volume);
    const annotations = { ...claim.metadata.annotations, [this.dialect.annotations.bindCompleted]: 'yes' };
    storage.setClaim({
      ...claim,
      metadata: { ...claim.metadata, annotations },
      spec: { ...claim.spec, volumeName: volume.metadata.name ?? '' },
      status: { phase: 'Bound' },
    });
    this.#changes.push({ action: 'create', object: volume });
  }

  undo(): void {
    for (const step of this.#undo.reverse()) step();
    this.copy.objects.storage.reset();
  }
}

function nameOf({ metadata }: Pod) {
  return { namespace: metadata.namespace ?? '', name: metadata.name ?? '' };
}

/** The manifest that recreates the pod, without fields set by the server. */
export function manifestOf({ metadata, spec }: Pod): Pod {
  const { annotations, labels, name, namespace } = metadata;
  const { nodeName: _node, ...rest } = spec;
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      namespace,
      ...(labels === undefined ? {} : { labels }),
      ...(annotations === undefined ? {} : { annotations }),
    },
    spec: rest,
  } as Pod;
}

/** Whether its controller would not recreate the pod on the same node. */
export function canLeaveNode({ metadata }: Pod): boolean {
  return !(metadata.ownerReferences ?? []).some(
    ({ controller, kind }) => controller === true && (kind === 'DaemonSet' || kind === 'Node'),
  );
}

/** Applies a change to the trial and describes it in words that follow “to”. */
export type Fix = (trial: Trial) => string;
