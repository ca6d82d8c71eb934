/** Volumes of in-tree plugins that a CSI driver serves and counts instead; rules of release 1.24. */
import type { NodeSelectorTerm, PersistentVolume } from '#api/core/v1/types.gen.js';
import type { CSINode } from '#api/storage/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { FeatureGateName } from '#daemon/options/groups/feature-gate-table.js';
import { FeatureGates } from '#daemon/options/groups/feature-gates.js';

interface Migration {
  /** Name after the dialect's domain, as in provisioner names and the node annotation. */
  readonly plugin: string;
  readonly driver: string;
  /** The plugin's own feature gate, besides CSIMigration; absent: CSIMigration suffices. */
  readonly gate?: FeatureGateName;
  /** The driver's zone label on nodes; absent: it has none. */
  readonly zoneLabel?: string;
  /** The driver's handle for the volume; undefined for volumes of other plugins. */
  readonly handleOf: (volume: PersistentVolume, labels: Dialect['labels']) => string | undefined;
}

const migrations: readonly Migration[] = [
  {
    plugin: 'aws-ebs',
    driver: 'ebs.csi.aws.com',
    gate: 'CSIMigrationCloudA',
    zoneLabel: 'topology.ebs.csi.aws.com/zone',
    // `aws://zone/vol-1` and `vol-1` are the same disk.
    handleOf: ({ spec }) => spec.awsElasticBlockStore?.volumeID.replace(/^aws:\/\/.*\//, ''),
  },
  {
    plugin: 'gce-pd',
    driver: 'pd.csi.storage.gke.io',
    gate: 'CSIMigrationCloudC',
    zoneLabel: 'topology.gke.io/zone',
    handleOf: gceHandle,
  },
  {
    plugin: 'azure-disk',
    driver: 'disk.csi.azure.com',
    zoneLabel: 'topology.disk.csi.azure.com/zone',
    handleOf: ({ spec }) => spec.azureDisk?.diskURI,
  },
  {
    plugin: 'cinder',
    driver: 'cinder.csi.openstack.org',
    zoneLabel: 'topology.cinder.csi.openstack.org/zone',
    handleOf: ({ spec }) => spec.cinder?.volumeID,
  },
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

/** Separates the zones in a label of a volume in several zones. */
export const zoneSeparator = '__';

/** The handle of a disk in one zone, of a regional disk, or of a disk without zone labels. */
function gceHandle({ metadata, spec }: PersistentVolume, labels: Dialect['labels']): string | undefined {
  const name = spec.gcePersistentDisk?.pdName;
  if (name === undefined) return undefined;
  const zones = (metadata.labels?.[labels.zone] ?? '').split(zoneSeparator).filter((zone) => zone !== '');
  const [zone = 'UNSPECIFIED'] = zones;
  const place = zones.length > 1 ? `regions/${zone.replace(/-[^-]*$/, '')}` : `zones/${zone}`;
  return `projects/UNSPECIFIED/${place}/disks/${name}`;
}

/** The CSI driver that serves an in-tree plugin's volumes on nodes that migrated it. */
export interface Migrated {
  /** Including the domain. */
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

  /** Whether the node migrated the plugin to its driver. `plugin`: including the domain. */
  isOn(node: CSINode | undefined, plugin: string): boolean {
    const migration = this.#find(plugin);
    if (migration === undefined || !this.#gates.enabled('CSIMigration')) return false;
    if (migration.gate !== undefined && !this.#gates.enabled(migration.gate)) return false;
    const migratedPlugins = node?.metadata.annotations?.[this.#dialect.annotations.migratedPlugins] ?? '';
    return migratedPlugins.split(',').includes(plugin);
  }

  /** Undefined for volumes of plugins without a driver. */
  ofVolume(volume: PersistentVolume): (Migrated & { readonly handle: string }) | undefined {
    for (const { driver, handleOf, plugin } of migrations) {
      const handle = handleOf(volume, this.#dialect.labels);
      if (handle !== undefined) return { plugin: this.#fullName(plugin), driver, handle };
    }
    return undefined;
  }

  /**
   * The volume's topology in the labels of this node: for migrated plugins with the driver's zone label. Undefined: the
   * volume is reachable from all nodes.
   */
  reachOf(volume: PersistentVolume, node: CSINode | undefined): readonly NodeSelectorTerm[] | undefined {
    const terms = volume.spec.nodeAffinity?.required?.nodeSelectorTerms;
    const migrated = this.ofVolume(volume);
    if (migrated === undefined || !this.isOn(node, migrated.plugin)) return terms;
    const label = this.#find(migrated.plugin)?.zoneLabel;
    return label === undefined ? terms : this.#withZonesOf(label, volume, terms);
  }

  #withZonesOf(
    label: string,
    { metadata: { labels = {} } }: PersistentVolume,
    terms: readonly NodeSelectorTerm[] = [],
  ): readonly NodeSelectorTerm[] | undefined {
    const dialect = this.#dialect;
    const older = (what: string) => `failure-domain.beta.${dialect.labelDomain}/${what}`;
    const isUsed = (key: string) =>
      terms.some(({ matchExpressions = [] }) => matchExpressions.some((e) => e.key === key));
    // Node affinity overrides the volume's labels, and newer label names override older ones.
    const names = [dialect.labels.zone, older('zone')];
    const usedName = names.find(isUsed);
    const renamed = new Map([[older('region'), dialect.labels.region]]);
    if (usedName !== undefined) renamed.set(usedName, label);
    const translated = terms.map(({ matchExpressions = [], ...rest }) => ({
      ...rest,
      matchExpressions: matchExpressions.map((each) => ({ ...each, key: renamed.get(each.key) ?? each.key })),
    }));
    const labelled = labels[names.find((name) => labels[name] !== undefined) ?? ''];
    if (usedName !== undefined || labelled === undefined) return translated.length === 0 ? undefined : translated;
    const zones = { key: label, operator: 'In' as const, values: labelled.split(zoneSeparator) };
    if (translated.length === 0) return [{ matchExpressions: [zones] }];
    return translated.map((term) => ({ ...term, matchExpressions: [...term.matchExpressions, zones] }));
  }

  /** Undefined for provisioners that are not in-tree plugins. */
  ofProvisioner(provisioner: string): Migrated | undefined {
    const migration = this.#find(provisioner);
    return migration === undefined ? undefined : { plugin: provisioner, driver: migration.driver };
  }

  #find(plugin: string): Migration | undefined {
    return migrations.find((each) => this.#fullName(each.plugin) === plugin);
  }

  #fullName(plugin: string): string {
    return `${this.#dialect.labelDomain}/${plugin}`;
  }
}

/** The feature gates of CSI migration. */
export const csiMigrationGates = [
  'CSIMigration',
  'CSIMigrationCloudA',
  'CSIMigrationCloudC',
  'CSIMigrationStorageA',
  'CSIMigrationRBD',
] as const satisfies readonly FeatureGateName[];
