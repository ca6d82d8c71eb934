import { claimNamesOf } from '#api/core/v1/pod/claims.js';
import type { Pod } from '#api/core/v1/types.gen.js';
import { storageClassOf } from '#api/core/v1/volume/storage-class.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { keyFor } from '#apimachinery/object-key.js';
import type { NodeInfo } from '#scheduler/cluster/node-info.js';
import type { StorageObjects } from '#scheduler/cluster/objects.js';
import type { NodeFilter, Plugin, Rejection } from '#scheduler/framework/plugin.js';
import { zoneSeparator } from '#scheduler/plugins/csi-migration/csi-migration.js';

const otherZone: Rejection = { reasons: ['node(s) had no available volume zone'], unresolvable: true };
const unresolvable = (reason: string): Rejection => ({ reasons: [reason], unresolvable: true });

/** Passes nodes in the zones and regions of the pod's volumes. */
export function volumeZone(dialect: Dialect): Plugin {
  const { region, zone } = dialect.labels;
  const older = [
    `failure-domain.beta.${dialect.labelDomain}/zone`,
    `failure-domain.beta.${dialect.labelDomain}/region`,
  ];
  const labels = [zone, region, ...older];
  return {
    name: 'VolumeZone',
    events: [
      'NodeAdd',
      'NodeLabelChange',
      'StorageClassAdd',
      'StorageClassUpdate',
      'PvcAdd',
      'PvcUpdate',
      'PvAdd',
      'PvUpdate',
    ],
    filter: {
      local: false,
      prepare({ pod }, { objects: { storage } }) {
        return claimNamesOf(pod).length === 0 ? undefined : new ZoneFilter(pod, storage, dialect, labels);
      },
    },
  };
}

interface Place {
  readonly label: string;
  readonly values: readonly string[];
}

class ZoneFilter implements NodeFilter {
  readonly #pod: Pod;
  readonly #storage: StorageObjects;
  readonly #dialect: Dialect;
  readonly #labels: readonly string[];
  #places: readonly Place[] = [];
  #rejection: Rejection | undefined;

  constructor(pod: Pod, storage: StorageObjects, dialect: Dialect, labels: readonly string[]) {
    this.#pod = pod;
    this.#storage = storage;
    this.#dialect = dialect;
    this.#labels = labels;
  }

  /** Claim errors are returned per node, since they matter only on nodes with zone labels. */
  begin(): undefined {
    const places = this.#placesOf();
    this.#places = Array.isArray(places) ? places : [];
    this.#rejection = Array.isArray(places) ? undefined : places;
  }

  filter({ labels }: NodeInfo): Rejection | undefined {
    if (!this.#labels.some((label) => labels[label] !== undefined)) return undefined;
    if (this.#rejection !== undefined) return this.#rejection;
    const inPlace = this.#places.every(({ label, values }) => values.includes(labels[label] ?? ''));
    return inPlace ? undefined : otherZone;
  }

  #placesOf(): Place[] | Rejection {
    const places: Place[] = [];
    for (const name of claimNamesOf(this.#pod)) {
      const claim = this.#storage.claim(keyFor(this.#pod.metadata.namespace, name));
      if (claim === undefined) return unresolvable(`persistentvolumeclaim ${JSON.stringify(name)} not found`);
      const volumeName = claim.spec.volumeName ?? '';
      if (volumeName === '') {
        const className = storageClassOf(claim, this.#dialect);
        if (className === '') return unresolvable('PersistentVolumeClaim had no pv name and storageClass name');
        const storageClass = this.#storage.storageClass(className);
        if (storageClass === undefined) {
          const kind = `storageclass.${this.#dialect.groupName('storage')}`;
          return unresolvable(`${kind} ${JSON.stringify(className)} not found`);
        }
        // Its volume is chosen together with the node.
        if (storageClass.volumeBindingMode === 'WaitForFirstConsumer') continue;
        return unresolvable('PersistentVolume had no name');
      }
      const volume = this.#storage.volume(volumeName);
      if (volume === undefined) return unresolvable(`persistentvolume ${JSON.stringify(volumeName)} not found`);
      for (const label of this.#labels) {
        const values = volume.metadata.labels?.[label]?.split(zoneSeparator).map((value) => value.trim());
        // A list that contains an empty name is ignored.
        if (values?.includes('') === false) places.push({ label, values });
      }
    }
    return places;
  }
}
