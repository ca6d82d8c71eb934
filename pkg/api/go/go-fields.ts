/** Names and order of message fields in Go, for the types of pod templates (k8s.io/api, `types.go`). */

import { oncePer } from '#apimachinery/memo/once-per.js';
import type { FieldInfo, TypeInfo } from '#apimachinery/schema/type-info.js';
import type { GoField } from '#apimachinery/spew/dump.js';

/** Names that cannot be derived from the JSON names. */
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

/** JSON pointers that are values in 1.24's memory. */
const valuesInMemory: ReadonlySet<string> = new Set(['apps.v1.RollingUpdateStatefulSetStrategy.partition']);

/** Field numbers in Go's order, where declarations differ: unions follow the order of their rules. */
const oddOrders: Readonly<Record<string, readonly number[]>> = {
  'core.v1.VolumeSource': [
    ...[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23],
    ...[26, 24, 25, 27, 28, 29],
  ],
};

/** Prefixes of JSON names that Go writes in capitals. */
const initialism =
  /^(?:api|uid|dns|ip|tcp|http|grpc|gce|aws|nfs|iscsi|rbd|fc|csi|fs|pd|os|tty|iqn|ssl|se(?=Linux))(?=[A-Z]|s?$)/;

/** The fields of a struct in Go. Throws a RangeError for a type without declaration. */
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
  const irregularName = oddNames[`${type}.${name}`];
  if (irregularName !== undefined) return irregularName;
  const whole = name.replace(initialism, (letters) => letters.toUpperCase());
  return whole.charAt(0).toUpperCase() + whole.slice(1);
}
