/** The names of 1.24's volume plugins, for metrics, attached volumes and messages. Pure. */
import type { PersistentVolumeSource, VolumeSource } from '#api/core/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';

/** Member of a volume source → plugin, without the product's domain. Omits members without a plugin in 1.24. */
const plugins = {
  awsElasticBlockStore: 'aws-ebs',
  azureDisk: 'azure-disk',
  azureFile: 'azure-file',
  cephfs: 'cephfs',
  cinder: 'cinder',
  csi: 'csi',
  fc: 'fc',
  flocker: 'flocker',
  gcePersistentDisk: 'gce-pd',
  glusterfs: 'glusterfs',
  hostPath: 'host-path',
  iscsi: 'iscsi',
  local: 'local-volume',
  nfs: 'nfs',
  portworxVolume: 'portworx-volume',
  quobyte: 'quobyte',
  rbd: 'rbd',
  storageos: 'storageos',
  vsphereVolume: 'vsphere-volume',
} as const satisfies { readonly [K in keyof PersistentVolumeSource | keyof VolumeSource]?: string };

type VolumeMember = keyof typeof plugins;

const members = Object.keys(plugins) as VolumeMember[];

/** The member that the source sets; undefined if 1.24 has no plugin for it. */
export function memberOf(source: PersistentVolumeSource | VolumeSource): VolumeMember | undefined {
  return members.find((member) => (source as Readonly<Record<string, unknown>>)[member] !== undefined);
}

function pluginName(member: VolumeMember, dialect: Dialect): string {
  return `${dialect.labelDomain}/${plugins[member]}`;
}

/** The metrics label: with the driver of a CSI volume, `N/A` for a volume without a plugin. */
export function pluginLabel(source: PersistentVolumeSource, dialect: Dialect): string {
  const member = memberOf(source);
  if (member === undefined) return 'N/A';
  const name = pluginName(member, dialect);
  return member === 'csi' ? `${name}:${source.csi?.driver ?? ''}` : name;
}
