/** Requests that drivers attach the volumes of pods to their nodes, and detach volumes without pods. */
import { isOutOfService } from '#api/core/v1/node/conditions.js';
import { nodes as nodeType } from '#api/core/v1/resources.gen.js';
import type { AttachedVolume, Node, PersistentVolumeClaim, Pod } from '#api/core/v1/types.gen.js';
import { volumeattachments } from '#api/storage/v1/resources.gen.js';
import type { VolumeAttachment } from '#api/storage/v1/types.gen.js';
import { semanticEqual } from '#apimachinery/equality.js';
import { isAlreadyExists, isNotFound } from '#apimachinery/errors/status.js';
import { keyOf } from '#apimachinery/object-key.js';
import type { Informer, Lister } from '#client/informer/informer.js';
import { done, type Outcome, requeueAfter } from '#client/workqueue/outcome.js';
import { VolumeUsers } from '#controllers/attachdetach/observe.js';
import { multiAttachMessage, type NodePlan, planNode } from '#controllers/attachdetach/plan.js';
import { type AttachableVolume, attachmentFor } from '#controllers/attachdetach/volumes.js';
import type { Controller, ControllerContext } from '#controllers/framework/context.js';
import { podsOfClaim, sharedInformer } from '#controllers/framework/informers.js';
import { LatestObjects } from '#controllers/framework/latest-objects.js';
import { ReconcileLoop } from '#controllers/framework/loop.js';
import { countByLabels, type GaugeSample } from '#controllers/framework/metrics.js';

/** One node at a time, so that the next node sees where a volume was just attached. */
const concurrency = 1;

const byNode = 'attachmentsOfNode';
const byVolume = 'attachmentsOfVolume';

export interface AttachDetachOptions {
  /** `--attach-detach-reconcile-sync-period`; 0: no resync. */
  readonly syncPeriodMs: number;
  /** Whether nodes out of service lose their volumes at once (gate NodeOutOfServiceVolumeDetach); absent: no. */
  readonly detachesOutOfService?: boolean;
}

export class AttachDetachController implements Controller {
  readonly name = 'attachdetach';
  readonly #context: ControllerContext;
  readonly #syncPeriodMs: number;
  readonly #users: VolumeUsers;
  readonly #nodes: Informer<Node>;
  readonly #cache: Informer<VolumeAttachment>;
  readonly #attachments: LatestObjects<VolumeAttachment>;
  readonly #loop: ReconcileLoop;
  /** When each attachment became unneeded, in monotonic ms, by name. */
  readonly #unneededSince = new Map<string, number>();
  /** The recorded failures (pod UID and volume), by node. */
  readonly #recordedFailures = new Map<string, ReadonlySet<string>>();

  readonly #detachesOutOfService: boolean;

  constructor(context: ControllerContext, { syncPeriodMs, detachesOutOfService = false }: AttachDetachOptions) {
    this.#detachesOutOfService = detachesOutOfService;
    this.#context = context;
    this.#syncPeriodMs = syncPeriodMs;
    this.#users = new VolumeUsers(context);
    this.#nodes = sharedInformer(context.informers, nodeType);
    this.#cache = sharedInformer(context.informers, volumeattachments);
    this.#cache.addIndexers({
      [byNode]: ({ spec }) => [spec.nodeName],
      [byVolume]: ({ spec }) => [spec.source.persistentVolumeName ?? ''],
    });
    this.#attachments = new LatestObjects(this.#cache, context.clock);
    this.#loop = new ReconcileLoop(context, { name: this.name, concurrency, reconcile: (key) => this.#reconcile(key) });
  }

  async run(signal: AbortSignal): Promise<void> {
    const add = (node: string | undefined) => {
      if (node !== undefined && node !== '') this.#loop.queue.add(node);
    };
    const ofPod = (pod: Pod) => {
      if ((pod.spec.volumes?.length ?? 0) > 0) add(pod.spec.nodeName);
    };
    const ofClaim = (claim: PersistentVolumeClaim) => {
      for (const pod of podsOfClaim(this.#users.pods, keyOf(claim))) add(pod.spec.nodeName);
    };
    const ofVolume = (name: string) => {
      for (const pod of this.#users.podsOf(name)) add(pod.spec.nodeName);
    };
    const ofAttachment = ({ spec }: VolumeAttachment) => add(spec.nodeName);
    const resync = { resyncMs: this.#syncPeriodMs };
    await this.#loop.run(signal, [
      this.#users.pods.addHandler({ onAdd: ofPod, onUpdate: ofPod, onDelete: ofPod }),
      this.#users.claims.addHandler({ onAdd: ofClaim, onUpdate: ofClaim }),
      this.#users.volumes.addHandler({ onAdd: (volume) => ofVolume(volume.metadata.name ?? '') }),
      this.#nodes.addHandler(
        {
          onAdd: (node) => add(node.metadata.name),
          onUpdate: (node, old) => {
            const { dialect } = this.#context;
            const leaves = isOutOfService(dialect, node) !== isOutOfService(dialect, old);
            if (node === old || leaves || isRelevantChange(node, old)) add(node.metadata.name);
          },
          onDelete: (node) => add(node.metadata.name),
        },
        resync,
      ),
      this.#cache.addHandler({
        onAdd: ofAttachment,
        onUpdate: (attachment, old) => {
          this.#recordProgress(attachment, old);
          ofAttachment(attachment);
        },
        onDelete: (attachment) => {
          this.#unneededSince.delete(keyOf(attachment));
          ofAttachment(attachment);
          // Pods on other nodes may wait for the volume.
          ofVolume(attachment.spec.source.persistentVolumeName ?? '');
        },
      }),
      registerVolumeCounts(this.#context, { users: this.#users, nodes: this.#nodes, attachments: this.#cache }),
    ]);
  }

  async #reconcile(name: string): Promise<Outcome> {
    const node = this.#nodes.get(name);
    const { annotations } = this.#context.dialect;
    // Skip nodes that attach volumes themselves. A deleted node can only lose its volumes.
    if (node !== undefined && node.metadata.annotations?.[annotations.controllerAttachDetach] !== 'true') return done;
    const plan = this.#plan(name, node);
    this.#recordFailures(name, plan.blocked);
    if (node !== undefined) await Promise.all(plan.attach.map((volume) => this.#attach(volume, name)));
    // Update the node's status first, so that the node does not mount a volume that is being detached.
    if (plan.report !== undefined && node !== undefined) await this.#report(name, plan.report);
    for (const attachment of plan.detach) await this.#detach(attachment, plan.forced.includes(attachment));
    return plan.requeueAfterMs === undefined ? done : requeueAfter(plan.requeueAfterMs);
  }

  #plan(name: string, node: Node | undefined): NodePlan {
    const { clock } = this.#context;
    const attachments = this.#attachments.byIndex(byNode, name).filter(({ spec }) => spec.nodeName === name);
    const now = clock.monotonic();
    const plan = planNode({
      desired: this.#users.volumesOn(name),
      attachments,
      uniqueNameOf: (attachment) => this.#uniqueNameOf(attachment),
      elsewhere: (volume) =>
        this.#attachments
          .byIndex(byVolume, volume.name)
          .filter(({ spec }) => spec.source.persistentVolumeName === volume.name && spec.nodeName !== name)
          .map(({ spec }) => spec.nodeName),
      inUse: new Set(node?.status?.volumesInUse ?? []),
      outOfService: this.#detachesOutOfService && node !== undefined && isOutOfService(this.#context.dialect, node),
      reported: node?.status?.volumesAttached ?? [],
      unneededForMs: (attachment) => now - (this.#unneededSince.get(keyOf(attachment)) ?? now),
    });
    const unneeded = new Set(plan.unneeded);
    for (const attachment of attachments) {
      const key = keyOf(attachment);
      if (!unneeded.has(attachment)) this.#unneededSince.delete(key);
      else if (!this.#unneededSince.has(key)) this.#unneededSince.set(key, now);
    }
    return plan;
  }

  /** Undefined for attachments of other clients: their volume does not exist, or is defined inside a pod. */
  #uniqueNameOf({ metadata, spec }: VolumeAttachment): string | undefined {
    const volume = this.#users.volumes.get(spec.source.persistentVolumeName ?? '');
    const attachable = volume && this.#users.attachable(volume);
    if (attachable === undefined) return undefined;
    return attachmentFor(attachable, spec.nodeName).metadata.name === metadata.name ? attachable.uniqueName : undefined;
  }

  async #attach(volume: AttachableVolume, node: string): Promise<void> {
    try {
      const client = this.#context.client.resource(volumeattachments);
      this.#attachments.wrote(await client.create(attachmentFor(volume, node)));
    } catch (error) {
      // The cache does not show the attachment yet.
      if (!isAlreadyExists(error)) throw error;
    }
  }

  async #detach(attachment: VolumeAttachment, forced: boolean): Promise<void> {
    const { client, metrics, log } = this.#context;
    const { name = '', uid = '' } = attachment.metadata;
    if (forced) {
      log.warn({ node: attachment.spec.nodeName, attachment: name }, 'detaching a volume that the node still uses');
      metrics.count(
        'attachdetach_controller_forced_detaches',
        'Number of times the A/D Controller performed a forced detach',
      );
    }
    try {
      await client.resource(volumeattachments).delete(name, { preconditions: { uid } });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
    this.#loop.written.deleted(attachment.spec.nodeName, this.#cache, attachment);
  }

  async #report(name: string, volumesAttached: readonly AttachedVolume[]): Promise<void> {
    const patch = { status: { volumesAttached: volumesAttached.length === 0 ? null : volumesAttached } };
    const written = await this.#context.client
      .resource(nodeType)
      .patch(name, patch, { type: 'merge', subresource: 'status' });
    this.#loop.written.wrote(name, this.#nodes, written);
  }

  /** Records one event for each pod that waits for a volume. */
  #recordFailures(node: string, blocked: readonly AttachableVolume[]): void {
    const before = this.#recordedFailures.get(node);
    const failures = new Set<string>();
    const fail = (pod: Pod, volume: string, message: string) => {
      const key = `${pod.metadata.uid} ${volume}`;
      failures.add(key);
      if (before?.has(key) !== true) this.#context.events.record(pod, 'Warning', 'FailedAttachVolume', message);
    };
    for (const { name } of blocked) {
      const pods = this.#users.podsOf(name);
      const others = pods
        .filter(({ spec }) => (spec.nodeName ?? '') !== '' && spec.nodeName !== node)
        .map(({ metadata }) => ({ namespace: metadata.namespace ?? '', name: metadata.name ?? '' }));
      for (const pod of pods) {
        if (pod.spec.nodeName === node) fail(pod, name, multiAttachMessage(name, pod.metadata.namespace ?? '', others));
      }
    }
    for (const { pod, volume } of this.#users.unattachableOn(node)) {
      fail(pod, volume, `AttachVolume.Attach failed for volume "${volume}" : no volume plugin matched`);
    }
    if (failures.size === 0) this.#recordedFailures.delete(node);
    else this.#recordedFailures.set(node, failures);
  }

  /** Records the driver's progress as events of the waiting pods. */
  #recordProgress({ spec, status }: VolumeAttachment, old: VolumeAttachment): void {
    const name = spec.source.persistentVolumeName ?? '';
    const waiting = () => this.#users.podsOf(name).filter((pod) => pod.spec.nodeName === spec.nodeName);
    const { events } = this.#context;
    if (status?.attached === true && old.status?.attached !== true) {
      const message = `AttachVolume.Attach succeeded for volume "${name}" `;
      for (const pod of waiting()) events.record(pod, 'Normal', 'SuccessfulAttachVolume', message);
    }
    const error = status?.attachError;
    if (error === undefined || semanticEqual(error, old.status?.attachError)) return;
    const message = `AttachVolume.Attach failed for volume "${name}" : ${error.message ?? ''}`;
    for (const pod of waiting()) events.record(pod, 'Warning', 'FailedAttachVolume', message);
  }
}

/** False for heartbeats, which are most changes of a node. */
function isRelevantChange(node: Node, old: Node): boolean {
  return (
    !semanticEqual(node.metadata.annotations, old.metadata.annotations) ||
    !semanticEqual(node.status?.volumesInUse, old.status?.volumesInUse) ||
    !semanticEqual(node.status?.volumesAttached, old.status?.volumesAttached)
  );
}

/** The gauges of attached volumes, named as in 1.24. */

interface Parts {
  readonly users: VolumeUsers;
  readonly nodes: Lister<Node>;
  readonly attachments: Lister<VolumeAttachment>;
}

/** Counts desired and actual attachments at each scrape. Returns the function that removes the gauges. */
function registerVolumeCounts({ metrics, dialect }: ControllerContext, parts: Parts): () => void {
  const { users, nodes, attachments } = parts;
  const plugin = (driver: string) => `${dialect.labelDomain}/csi:${driver}`;
  const total = (): GaugeSample[] => {
    const actual = attachments.list().map(({ spec }) => [plugin(spec.attacher), 'actual_state_of_world'] as const);
    const desired = nodes
      .list()
      .flatMap(({ metadata }) => users.volumesOn(metadata.name ?? ''))
      .map(({ driver }) => [plugin(driver), 'desired_state_of_world'] as const);
    return countByLabels([...actual, ...desired], ['plugin_name', 'state'], (labels) => labels);
  };
  const inUse = (): GaugeSample[] =>
    countByLabels(attachments.list(), ['node', 'volume_plugin'], ({ spec, status }) =>
      status?.attached === true ? [spec.nodeName, plugin(spec.attacher)] : undefined,
    );
  const end = [
    metrics.gauge(
      {
        name: 'attachdetach_controller_total_volumes',
        help: 'Number of volumes in A/D Controller',
        labelNames: ['plugin_name', 'state'],
      },
      total,
    ),
    metrics.gauge(
      {
        name: 'storage_count_attachable_volumes_in_use',
        help: 'Measure number of volumes in use',
        labelNames: ['node', 'volume_plugin'],
      },
      inUse,
    ),
  ];
  return () => {
    for (const each of end) each();
  };
}
