/** Volumes that a CSI driver serves in place of the plugin they name, and so counts. Rules of release 1.24. */
import type { PersistentVolume } from '#api/core/v1/types.gen.js';
import type { CSINode } from '#api/storage/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { FeatureGateName } from '#daemon/options/groups/feature-gate-table.js';
import { FeatureGates } from '#daemon/options/groups/feature-gates.js';

interface Migration {
  /** Behind the dialect's domain: how provisioners and the annotation of nodes name the plugin. */
  readonly plugin: string;
  readonly driver: string;
  /** Beside the one for all; absent: that one is enough. */
  readonly gate?: FeatureGateName;
  /** What the driver calls the volume; undefined for volumes of other plugins. */
  readonly handleOf: (volume: PersistentVolume, labels: Dialect['labels']) => string | undefined;
}

const migrations: readonly Migration[] = [
  {
    plugin: 'aws-ebs',
    driver: 'ebs.csi.aws.com',
    gate: 'CSIMigrationCloudA',
    // `aws://zone/vol-1` is the same disk as `vol-1`.
    handleOf: ({ spec }) => spec.awsElasticBlockStore?.volumeID.replace(/^aws:\/\/.*\//, ''),
  },
  { plugin: 'gce-pd', driver: 'pd.csi.storage.gke.io', gate: 'CSIMigrationCloudC', handleOf: gceHandle },
  { plugin: 'azure-disk', driver: 'disk.csi.azure.com', handleOf: ({ spec }) => spec.azureDisk?.diskURI },
  { plugin: 'cinder', driver: 'cinder.csi.openstack.org', handleOf: ({ spec }) => spec.cinder?.volumeID },
  {
    plugin: 'portworx-volume',
    driver: 'pxd.portworx.com',
    gate: 'CSIMigrationStorageA',
    handleOf: ({ spec }) => spec.portworxVolume?.volumeID,
  },
  {
    plugin: 'rbd',
    driver: 'rbd.csi.ceph.com',
    gate: 'CSIMigrationRBD',
    handleOf: ({ spec: { rbd } }) =>
      rbd === undefined ? undefined : `${rbd.monitors.join(',')}/${rbd.pool ?? 'rbd'}/${rbd.image}`,
  },
];

/** A disk of one zone, of the region of several zones, or of a place that nobody told. */
function gceHandle({ metadata, spec }: PersistentVolume, labels: Dialect['labels']): string | undefined {
  const name = spec.gcePersistentDisk?.pdName;
  if (name === undefined) return undefined;
  const zones = (metadata.labels?.[labels.zone] ?? '').split('__').filter((zone) => zone !== '');
  const [zone = 'UNSPECIFIED'] = zones;
  const place = zones.length > 1 ? `regions/${zone.replace(/-[^-]*$/, '')}` : `zones/${zone}`;
  return `projects/UNSPECIFIED/${place}/disks/${name}`;
}

/** A volume as a CSI driver knows it, where the node has handed the plugin over. */
export interface Migrated {
  /** With the domain. */
  readonly plugin: string;
  readonly driver: string;
}

export class CsiMigration {
  readonly #dialect: Dialect;
  readonly #gates: FeatureGates;

  constructor(dialect: Dialect, gates = new FeatureGates()) {
    this.#dialect = dialect;
    this.#gates = gates;
  }

  /** Whether the node has handed the plugin over to a driver. `plugin`: with the domain. */
  isOn(node: CSINode | undefined, plugin: string): boolean {
    const found = this.#find(plugin);
    if (found === undefined || !this.#gates.enabled('CSIMigration')) return false;
    if (found.gate !== undefined && !this.#gates.enabled(found.gate)) return false;
    const listed = node?.metadata.annotations?.[this.#dialect.annotations.migratedPlugins] ?? '';
    return listed.split(',').includes(plugin);
  }

  /** Undefined for volumes of plugins that no driver can stand in for. */
  ofVolume(volume: PersistentVolume): (Migrated & { readonly handle: string }) | undefined {
    for (const { driver, handleOf, plugin } of migrations) {
      const handle = handleOf(volume, this.#dialect.labels);
      if (handle !== undefined) return { plugin: this.#named(plugin), driver, handle };
    }
    return undefined;
  }

  /** Undefined for provisioners that are no such plugins. */
  ofProvisioner(provisioner: string): Migrated | undefined {
    const found = this.#find(provisioner);
    return found === undefined ? undefined : { plugin: provisioner, driver: found.driver };
  }

  #find(plugin: string): Migration | undefined {
    return migrations.find((each) => this.#named(each.plugin) === plugin);
  }

  #named(plugin: string): string {
    return `${this.#dialect.labelDomain}/${plugin}`;
  }
}

/** The feature gates that decide about it. */
export const csiMigrationGates = [
  'CSIMigration',
  'CSIMigrationCloudA',
  'CSIMigrationCloudC',
  'CSIMigrationStorageA',
  'CSIMigrationRBD',
] as const satisfies readonly FeatureGateName[];
