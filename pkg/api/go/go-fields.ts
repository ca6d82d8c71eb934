/** How Go names the fields of a message and in which order it has them, as far as pod templates go (k8s.io/api, `types.go`). */

import { oncePer } from '#apimachinery/memo/once-per.js';
import type { FieldInfo, TypeInfo } from '#apimachinery/schema/type-info.js';
import type { GoField } from '#apimachinery/spew/dump.js';

/** Names that do not follow from those in JSON. */
const oddNames: Readonly<Record<string, string>> = {
  'core.v1.AzureDiskVolumeSource.diskURI': 'DataDiskURI',
  'core.v1.FCVolumeSource.wwids': 'WWIDs',
  'core.v1.GlusterfsVolumeSource.endpoints': 'EndpointsName',
  'core.v1.ISCSIVolumeSource.chapAuthDiscovery': 'DiscoveryCHAPAuth',
  'core.v1.ISCSIVolumeSource.chapAuthSession': 'SessionCHAPAuth',
  'core.v1.PersistentVolumeClaimTemplate.metadata': 'ObjectMeta',
  'core.v1.PhotonPersistentDiskVolumeSource.pdID': 'PdID',
  'core.v1.PodSpec.serviceAccount': 'DeprecatedServiceAccount',
  'core.v1.PodTemplateSpec.metadata': 'ObjectMeta',
  'core.v1.RBDVolumeSource.image': 'RBDImage',
  'core.v1.RBDVolumeSource.monitors': 'CephMonitors',
  'core.v1.RBDVolumeSource.pool': 'RBDPool',
  'core.v1.RBDVolumeSource.user': 'RadosUser',
  'core.v1.VolumeSource.cephfs': 'CephFS',
  'core.v1.VolumeSource.storageos': 'StorageOS',
  'core.v1.WindowsSecurityContextOptions.gmsaCredentialSpec': 'GMSACredentialSpec',
  'core.v1.WindowsSecurityContextOptions.gmsaCredentialSpecName': 'GMSACredentialSpecName',
  'meta.v1.ObjectMeta.clusterName': 'ZZZ_DeprecatedClusterName',
};

/** Pointers in JSON that 1.24 has as values in memory. */
const valuesInMemory: ReadonlySet<string> = new Set(['apps.v1.RollingUpdateStatefulSetStrategy.partition']);

/** Numbers of fields in Go's order, where the declaration has another one: it is a union, whose order is of its rules. */
const oddOrders: Readonly<Record<string, readonly number[]>> = {
  'core.v1.VolumeSource': [
    ...[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23],
    ...[26, 24, 25, 27, 28, 29],
  ],
};

/** What a name in JSON begins with and Go writes in capitals. */
const initialism =
  /^(?:api|uid|dns|ip|tcp|http|grpc|gce|aws|nfs|iscsi|rbd|fc|csi|fs|pd|os|tty|iqn|ssl|se(?=Linux))(?=[A-Z]|s?$)/;

/** The fields of a struct as Go has them. Throws a RangeError for a type that no declaration lists. */
export const goFieldsOf = oncePer((type: TypeInfo): readonly GoField[] => {
  const { declared, name, byNumber } = type;
  if (declared === undefined) throw new RangeError(`${name} has no declaration`);
  const ordered = oddOrders[name]?.map((number) => byNumber.get(number)) ?? declared.map((key) => fieldOf(type, key));
  return ordered.map((field) => {
    if (field === undefined) throw new RangeError(`${name} lacks a field`);
    const held = valuesInMemory.has(`${name}.${field.name}`) ? { ...field, pointer: false } : field;
    return { field: held, name: goNameOf(type, field.inline ? (field.type?.shortName ?? '') : field.name) };
  });
});

function fieldOf({ fields }: TypeInfo, key: string): FieldInfo | undefined {
  return fields.find(({ name, inline, protoName }) => (inline ? `~${protoName}` : name) === key);
}

function goNameOf({ name: type }: TypeInfo, name: string): string {
  const known = oddNames[`${type}.${name}`];
  if (known !== undefined) return known;
  const whole = name.replace(initialism, (letters) => letters.toUpperCase());
  return whole.charAt(0).toUpperCase() + whole.slice(1);
}
