/** The names that 1.24's volume plugins have in metrics, in names of attached volumes and in messages. Pure. */
import type { PersistentVolumeSource, VolumeSource } from '#api/core/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';

/** Member of a volume's source → plugin, without the product's domain. Those without a plugin in 1.24 are left out. */
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

/** The member of the source that is set; undefined if 1.24 has no plugin for it. */
export function memberOf(source: PersistentVolumeSource | VolumeSource): VolumeMember | undefined {
  const given = source as Readonly<Record<string, unknown>>;
  return members.find((member) => given[member] !== undefined);
}

function pluginName(member: VolumeMember, dialect: Dialect): string {
  return `${dialect.labelDomain}/${plugins[member]}`;
}

/** For metrics: includes the driver of a CSI volume; `N/A` for a volume without a plugin. */
export function pluginLabel(source: PersistentVolumeSource, dialect: Dialect): string {
  const member = memberOf(source);
  if (member === undefined) return 'N/A';
  const name = pluginName(member, dialect);
  return member === 'csi' ? `${name}:${source.csi?.driver ?? ''}` : name;
}
