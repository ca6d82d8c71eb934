/** Volumes that a CSI driver serves in place of the plugin they name, and so counts. Rules of release 1.24. */
import type { NodeSelectorTerm, PersistentVolume } from '#api/core/v1/types.gen.js';
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
  /** How the driver labels nodes with their zone; absent for those that do not. */
  readonly zoneLabel?: string;
  /** What the driver calls the volume; undefined for volumes of other plugins. */
  readonly handleOf: (volume: PersistentVolume, labels: Dialect['labels']) => string | undefined;
}

const migrations: readonly Migration[] = [
  {
    plugin: 'aws-ebs',
    driver: 'ebs.csi.aws.com',
    gate: 'CSIMigrationCloudA',
    zoneLabel: 'topology.ebs.csi.aws.com/zone',
    // `aws://zone/vol-1` is the same disk as `vol-1`.
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

/** Between the zones of a volume that is in several. */
export const zoneSeparator = '__';

/** A disk of one zone, of the region of several zones, or of a place that nobody told. */
function gceHandle({ metadata, spec }: PersistentVolume, labels: Dialect['labels']): string | undefined {
  const name = spec.gcePersistentDisk?.pdName;
  if (name === undefined) return undefined;
  const zones = (metadata.labels?.[labels.zone] ?? '').split(zoneSeparator).filter((zone) => zone !== '');
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

  /**
   * Where the volume can be reached from, as the node is to be asked: of a plugin that it has handed over in the driver's
   * label of zones. Undefined: from everywhere.
   */
  reachOf(volume: PersistentVolume, node: CSINode | undefined): readonly NodeSelectorTerm[] | undefined {
    const own = volume.spec.nodeAffinity?.required?.nodeSelectorTerms;
    const migrated = this.ofVolume(volume);
    if (migrated === undefined || !this.isOn(node, migrated.plugin)) return own;
    const label = this.#find(migrated.plugin)?.zoneLabel;
    return label === undefined ? own : this.#withZonesOf(label, volume, own);
  }

  #withZonesOf(
    label: string,
    { metadata: { labels = {} } }: PersistentVolume,
    own: readonly NodeSelectorTerm[] = [],
  ): readonly NodeSelectorTerm[] | undefined {
    const dialect = this.#dialect;
    const older = (what: string) => `failure-domain.beta.${dialect.labelDomain}/${what}`;
    const isAsked = (key: string) =>
      own.some(({ matchExpressions = [] }) => matchExpressions.some((e) => e.key === key));
    // What is asked counts for more than what the volume is labelled with, the newer name for more than the older.
    const names = [dialect.labels.zone, older('zone')];
    const asked = names.find(isAsked);
    const renamed = new Map([[older('region'), dialect.labels.region]]);
    if (asked !== undefined) renamed.set(asked, label);
    const terms = own.map(({ matchExpressions = [], ...rest }) => ({
      ...rest,
      matchExpressions: matchExpressions.map((each) => ({ ...each, key: renamed.get(each.key) ?? each.key })),
    }));
    const labelled = labels[names.find((name) => labels[name] !== undefined) ?? ''];
    if (asked !== undefined || labelled === undefined) return terms.length === 0 ? undefined : terms;
    const zones = { key: label, operator: 'In' as const, values: labelled.split(zoneSeparator) };
    if (terms.length === 0) return [{ matchExpressions: [zones] }];
    return terms.map((term) => ({ ...term, matchExpressions: [...term.matchExpressions, zones] }));
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
