import { boundVolume } from '#api/core/v1/persistentvolume/binding.js';
import { persistentvolumeclaims, persistentvolumes } from '#api/core/v1/resources.gen.js';
import type { PersistentVolumeClaim } from '#api/core/v1/types.gen.js';
import { pauseClock } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { keyOf } from '#apimachinery/object-key.js';
import type { NodeInfo } from '#scheduler/cluster/node-info.js';
import type { ClusterObjects } from '#scheduler/cluster/objects.js';
import type { PodInfo } from '#scheduler/cluster/pod-info.js';
import type { Handle, NodeFilter, Plugin, Rejection, Reservation } from '#scheduler/framework/plugin.js';
import { CsiMigration } from '#scheduler/plugins/csi-migration/csi-migration.js';
import { claimsOf, isBound, type PodClaims } from '#scheduler/plugins/volume-binding/claims.js';
import { planVolumes, type VolumePlan, type VolumeState } from '#scheduler/plugins/volume-binding/plan.js';

export interface VolumeBindingArgs {
  /** Time limit for binding volumes; ms. */
  readonly bindTimeoutMs?: number;
}

const name = 'VolumeBinding';

/** Interval for polling claims while they are bound, as in release 1.24; ms. */
const pollMs = 1000;

/** Passes nodes that reach the volumes of the pod's claims, or where the claims can get volumes. */
export function volumeBinding(
  dialect: Dialect,
  { bindTimeoutMs = 600_000 }: VolumeBindingArgs = {},
  migration = new CsiMigration(dialect),
): Plugin {
  /** Volume → claim, for decisions that are not in the API yet. */
  const reservedVolumes = new Map<string, string>();
  const stateOf = ({ storage }: ClusterObjects): VolumeState => ({
    storage,
    dialect,
    migration,
    isReserved: ({ metadata }) => reservedVolumes.has(metadata.name ?? ''),
  });
  return {
    name,
    events: [
      'NodeAdd',
      'NodeLabelChange',
      'PvAdd',
      'PvUpdate',
      'PvcAdd',
      'PvcUpdate',
      'StorageClassAdd',
      'StorageClassUpdate',
      // CSINodes tell which in-tree plugins a node has migrated.
      'CSINodeAdd',
      'CSINodeUpdate',
      'CSIDriverAdd',
      'CSIDriverUpdate',
      'CSIStorageCapacityAdd',
      'CSIStorageCapacityUpdate',
    ],
    filter: {
      local: false,
      prepare(pod, { objects }) {
        return hasClaims(pod) ? new VolumeFilter(pod, stateOf(objects)) : undefined;
      },
    },
    reserve(pod, { node }, handle) {
      if (!hasClaims(pod) || node === undefined) return undefined;
      const within = stateOf(handle.cluster.objects);
      const claims = claimsOf(pod.pod, within.storage, dialect);
      const plan = typeof claims === 'string' ? { reasons: [claims] } : planVolumes(claims, node, within);
      if ('reasons' in plan) {
        handle.metrics.volumesFailed('assume');
        throw new Error(plan.reasons.join(', '));
      }
      if (plan.bind.length === 0 && plan.provision.length === 0) return undefined;
      for (const { claim, volume } of plan.bind) reservedVolumes.set(volume.metadata.name ?? '', keyOf(claim));
      handle.metrics.volumesRemembered('add');
      let isRemembered = true;
      const release = () => {
        // Called after the binding, and again if the pod is not bound after all.
        if (!isRemembered) return;
        isRemembered = false;
        for (const { volume } of plan.bind) reservedVolumes.delete(volume.metadata.name ?? '');
        handle.metrics.volumesRemembered('delete');
      };
      return new VolumeReservation({ plan, node: node.metadata.name ?? '', handle, dialect, bindTimeoutMs, release });
    },
  };
}

const hasClaims = ({ pod: { spec } }: PodInfo): boolean =>
  spec.volumes?.some(({ ephemeral, persistentVolumeClaim }) => (ephemeral ?? persistentVolumeClaim) !== undefined) ??
  false;

class VolumeFilter implements NodeFilter {
  readonly #pod: PodInfo;
  readonly #world: VolumeState;
  #claims: PodClaims | undefined;

  constructor(pod: PodInfo, world: VolumeState) {
    this.#pod = pod;
    this.#world = world;
  }

  begin(): Rejection | undefined {
    const claims = claimsOf(this.#pod.pod, this.#world.storage, this.#world.dialect);
    this.#claims = typeof claims === 'string' ? undefined : claims;
    return typeof claims === 'string' ? { reasons: [claims], unresolvable: true } : undefined;
  }

  filter({ node }: NodeInfo): Rejection | undefined {
    if (node === undefined || this.#claims === undefined) return undefined;
    const plan = planVolumes(this.#claims, node, this.#world);
    return 'reasons' in plan ? plan : undefined;
  }
}

interface ReservationOptions {
  readonly plan: VolumePlan;
  readonly node: string;
  readonly handle: Handle;
  readonly dialect: Dialect;
  readonly bindTimeoutMs: number;
  readonly release: () => void;
}

class VolumeReservation implements Reservation {
  readonly plugin = name;
  readonly #options: ReservationOptions;
  readonly release: () => void;

  constructor(options: ReservationOptions) {
    this.#options = options;
    this.release = options.release;
  }

  async preBind(stop: AbortSignal): Promise<void> {
    try {
      await this.#bind(stop);
    } catch (error) {
      if (!stop.aborted) this.#options.handle.metrics.volumesFailed('bind');
      throw error;
    }
  }

  /** Writes the volume assignments and waits until the claims are bound. */
  async #bind(stop: AbortSignal): Promise<void> {
    const { bindTimeoutMs, dialect, handle, node, plan } = this.#options;
    const { client, clock } = handle;
    for (const { claim, volume } of plan.bind) {
      await client.resource(persistentvolumes).update(boundVolume(volume, claim, dialect));
    }
    const { selectedNode } = dialect.annotations;
    for (const { metadata } of plan.provision) {
      if (metadata.annotations?.[selectedNode] === node) continue;
      const { name: claimName = '', namespace = '', resourceVersion } = metadata;
      const patch = { metadata: { resourceVersion, annotations: { [selectedNode]: node } } };
      await client.resource(persistentvolumeclaims).patch(claimName, patch, { namespace, type: 'merge' });
    }
    const deadline = clock.monotonic() + bindTimeoutMs;
    const waiting = [...plan.bind.map(({ claim }) => claim), ...plan.provision];
    while (!(await this.#allBound(waiting))) {
      if (clock.monotonic() >= deadline) throw new Error('binding volumes: timed out waiting for the condition');
      await pauseClock(clock).sleep(pollMs, stop);
      if (stop.aborted) throw new Error('the scheduler stops');
    }
    this.release();
  }

  /** Reads the claims from the API server, since the cache may lag behind the writes. Throws if the node was reset. */
  async #allBound(claims: readonly PersistentVolumeClaim[]): Promise<boolean> {
    const { dialect, handle, node, plan } = this.#options;
    for (const { metadata } of claims) {
      const { name: claimName = '', namespace = '' } = metadata;
      const claim = await handle.client.resource(persistentvolumeclaims).get(claimName, { namespace });
      if (isBound(claim, dialect)) continue;
      const provisioned = plan.provision.some((each) => each.metadata.uid === metadata.uid);
      if (provisioned && claim.metadata.annotations?.[dialect.annotations.selectedNode] !== node) {
        throw new Error(`binding volumes: selected node annotation reset for PVC ${JSON.stringify(claimName)}`);
      }
      return false;
    }
    return true;
  }
}
