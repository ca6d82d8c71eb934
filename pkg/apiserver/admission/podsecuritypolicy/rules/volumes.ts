/** Which volumes a policy allows. Source: 1.24, pkg/security/podsecuritypolicy/{provider.go,util/util.go}. */
import type { Pod, ProjectedVolumeSource, Volume } from '#api/core/v1/types.gen.js';
import type { PodSecurityPolicySpec } from '#api/policy/v1beta1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { addAll, invalidValue } from '#apimachinery/validation/failure.js';
import { FieldPath } from '#apimachinery/validation/path.js';
import { placedContainers } from '#apiserver/admission/podsecuritypolicy/rules/placed-containers.js';

/** Volume members in 1.24's order; the type's name differs for one. */
const members = [
  ...(['hostPath', 'emptyDir', 'gcePersistentDisk', 'awsElasticBlockStore', 'gitRepo', 'secret', 'nfs'] as const),
  ...(['iscsi', 'glusterfs', 'persistentVolumeClaim', 'rbd', 'flexVolume', 'cinder', 'cephfs', 'flocker'] as const),
  ...(['downwardAPI', 'fc', 'azureFile', 'configMap', 'vsphereVolume', 'quobyte', 'azureDisk'] as const),
  ...(['photonPersistentDisk', 'storageos', 'projected', 'portworxVolume', 'scaleIO', 'csi', 'ephemeral'] as const),
];

const path = FieldPath.of('spec', 'volumes');
const specPath = FieldPath.of('spec');

export interface VolumeContext {
  readonly dialect: Dialect;
  /** Whether pods may have inline volumes of drivers. */
  readonly inlineDrivers: boolean;
  /** Whether pods may have ephemeral containers. */
  readonly ephemeralContainers: boolean;
}

export function volumeFailures(policy: PodSecurityPolicySpec, pod: Pod, context: VolumeContext): FieldFailure[] {
  const { spec } = pod;
  const failures: FieldFailure[] = [];
  const types = new Set(policy.volumes);
  let mounts: WritableMounts | undefined;
  for (const [i, volume] of (spec.volumes ?? []).entries()) {
    const at = path.index(i);
    const member = members.find((name) => volume[name] !== undefined);
    if (member === undefined) {
      failures.push(invalidValue(at, '', 'unknown volume type for volume'));
      continue;
    }
    const type = member === 'cephfs' ? 'cephFS' : member;
    if (!types.has('*') && !allowsType(types, type, volume, context.dialect)) {
      failures.push(invalidValue(at, type, `${type} volumes are not allowed to be used`));
      continue;
    }
    if (member === 'hostPath') {
      const access = accessTo(policy, volume.hostPath?.path ?? '');
      const prefix = at.child('hostPath', 'pathPrefix');
      if (access === 'none')
        failures.push(invalidValue(prefix, volume.hostPath?.path ?? '', 'is not allowed to be used'));
      if (access === 'read') {
        mounts ??= writableMounts(pod, context.ephemeralContainers);
        addAll(failures, mounts.get(volume.name) ?? []);
      }
    }
    const driver = driverFailure(policy, volume, at, context);
    if (driver !== undefined) failures.push(driver);
  }
  return failures;
}

function driverFailure(
  { allowedFlexVolumes = [], allowedCSIDrivers = [] }: PodSecurityPolicySpec,
  { flexVolume, csi }: Volume,
  at: FieldPath,
  { inlineDrivers }: VolumeContext,
): FieldFailure | undefined {
  if (flexVolume !== undefined && allowedFlexVolumes.length > 0) {
    if (allowedFlexVolumes.some(({ driver }) => driver === flexVolume.driver)) return undefined;
    return invalidValue(at.child('driver'), flexVolume.driver, 'Flexvolume driver is not allowed to be used');
  }
  if (csi === undefined || !inlineDrivers || allowedCSIDrivers.length === 0) return undefined;
  if (allowedCSIDrivers.some(({ name }) => name === csi.driver)) return undefined;
  return invalidValue(at.child('csi', 'driver'), csi.driver, 'Inline CSI driver is not allowed to be used');
}

/** Who may use secrets may also have the volume with the token of the pod's own account. */
function allowsType(types: ReadonlySet<string>, type: string, { projected }: Volume, dialect: Dialect): boolean {
  return types.has(type) || (projected !== undefined && types.has('secret') && hasOnlyToken(projected, dialect));
}

function hasOnlyToken({ sources = [] }: ProjectedVolumeSource, { rootCAConfigMap }: Dialect): boolean {
  return sources.every(({ serviceAccountToken: token, configMap, downwardAPI }) => {
    if (token === undefined && configMap === undefined && downwardAPI === undefined) return false;
    if (token !== undefined && (token.path !== 'token' || (token.audience ?? '') !== '')) return false;
    if (configMap !== undefined && configMap.name !== rootCAConfigMap) return false;
    return (downwardAPI?.items ?? []).every(
      ({ path: file, fieldRef }) =>
        file === 'namespace' && fieldRef?.apiVersion === 'v1' && fieldRef.fieldPath === 'metadata.namespace',
    );
  });
}

type Access = 'none' | 'read' | 'write';

function accessTo({ allowedHostPaths = [] }: PodSecurityPolicySpec, directory: string): Access {
  if (allowedHostPaths.length === 0) return 'write';
  const matching = allowedHostPaths.filter(({ pathPrefix = '' }) => isBelow(directory, pathPrefix));
  if (matching.some(({ readOnly }) => readOnly !== true)) return 'write';
  return matching.length > 0 ? 'read' : 'none';
}

/** `/foo` contains `/foo/bar`, and not `/food`. */
function isBelow(directory: string, prefix: string): boolean {
  const [own, above] = [directory, prefix].map((text) => (text.endsWith('/') ? text.slice(0, -1) : text)) as [
    string,
    string,
  ];
  return own === above || own.startsWith(`${above}/`);
}

/** Failures of mounts that are not for reading only, by the names of their volumes. */
type WritableMounts = ReadonlyMap<string, readonly FieldFailure[]>;

/** Collected once: a pod may have thousands of volumes, and thousands of mounts. */
function writableMounts({ spec }: Pod, ephemeralContainers: boolean): WritableMounts {
  const mounts = new Map<string, FieldFailure[]>();
  for (const { container, path: at } of placedContainers(spec, specPath, ephemeralContainers)) {
    for (const [i, { name, readOnly }] of (container.volumeMounts ?? []).entries()) {
      if (readOnly === true) continue;
      const own = mounts.get(name) ?? [];
      own.push(invalidValue(at.child('volumeMounts').index(i).child('readOnly'), false, 'must be read-only'));
      mounts.set(name, own);
    }
  }
  return mounts;
}
