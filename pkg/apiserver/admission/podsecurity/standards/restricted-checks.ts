/** Checks of level `restricted`. */
import type { Volume } from '#api/core/v1/types.gen.js';
import {
  type Check,
  containersNamed,
  joined,
  namesOf,
  numbered,
  settersNamed,
  sortedUnique,
} from '#apiserver/admission/podsecurity/standards/check.js';

/** Since 1.8. */
export const allowPrivilegeEscalation: Check = (pod) => {
  const names = namesOf(pod, (context) => context.allowPrivilegeEscalation !== false);
  if (names.length === 0) return undefined;
  return {
    reason: 'allowPrivilegeEscalation != false',
    detail: `${containersNamed(names)} must set securityContext.allowPrivilegeEscalation=false`,
  };
};

/** Since 1.22. */
export const dropAllCapabilities: Check = (pod) => {
  const kept = namesOf(pod, ({ capabilities }) => capabilities?.drop?.includes('ALL') !== true);
  const others: string[] = [];
  const adding = namesOf(pod, ({ capabilities }) => {
    const more = (capabilities?.add ?? []).filter((capability) => capability !== 'NET_BIND_SERVICE');
    others.push(...more);
    return more.length > 0;
  });
  if (kept.length === 0 && adding.length === 0) return undefined;
  const details: string[] = [];
  if (kept.length > 0) details.push(`${containersNamed(kept)} must set securityContext.capabilities.drop=["ALL"]`);
  if (adding.length > 0) {
    const added = joined(sortedUnique(others));
    details.push(`${containersNamed(adding)} must not include ${added} in securityContext.capabilities.add`);
  }
  return { reason: 'unrestricted capabilities', detail: details.join('; ') };
};

const allowedVolumes = [
  'configMap',
  'csi',
  'downwardAPI',
  'emptyDir',
  'ephemeral',
  'persistentVolumeClaim',
  'projected',
  'secret',
] as const satisfies readonly (keyof Volume)[];

/** In the order in which 1.24 looks for them. */
const restrictedVolumes = [
  'hostPath',
  'gcePersistentDisk',
  'awsElasticBlockStore',
  'gitRepo',
  'nfs',
  'iscsi',
  'glusterfs',
  'rbd',
  'flexVolume',
  'cinder',
  'cephfs',
  'flocker',
  'fc',
  'azureFile',
  'vsphereVolume',
  'quobyte',
  'azureDisk',
  'photonPersistentDisk',
  'portworxVolume',
  'scaleIO',
  'storageos',
] as const satisfies readonly (keyof Volume)[];

export const allowedVolumeTypes: Check = ({ spec }) => {
  const volumes = (spec.volumes ?? []).filter((volume) => allowedVolumes.every((type) => volume[type] === undefined));
  if (volumes.length === 0) return undefined;
  const types = sortedUnique(
    volumes.map((volume) => restrictedVolumes.find((type) => volume[type] !== undefined) ?? 'unknown'),
  );
  const subject = `${numbered('volume', 'volumes', volumes.length)} ${joined(volumes.map(({ name }) => name))}`;
  const what = numbered('restricted volume type', 'restricted volume types', types.length);
  return {
    reason: 'restricted volume types',
    detail: `${subject} ${numbered('uses', 'use', volumes.length)} ${what} ${joined(types)}`,
  };
};

export const runAsNonRoot: Check = (pod) => {
  const reason = 'runAsNonRoot != true';
  const ofPod = pod.spec.securityContext?.runAsNonRoot;
  const setters = settersNamed(
    ofPod === false,
    namesOf(pod, (context) => context.runAsNonRoot === false),
  );
  if (setters !== '') return { reason, detail: `${setters} must not set securityContext.runAsNonRoot=false` };
  if (ofPod === true) return undefined;
  const names = namesOf(pod, (context) => context.runAsNonRoot === undefined);
  if (names.length === 0) return undefined;
  return { reason, detail: `pod or ${containersNamed(names)} must set securityContext.runAsNonRoot=true` };
};

/** Since 1.23. */
export const runAsUser: Check = (pod) => {
  const setters = settersNamed(
    pod.spec.securityContext?.runAsUser === 0,
    namesOf(pod, (context) => context.runAsUser === 0),
  );
  return setters === '' ? undefined : { reason: 'runAsUser=0', detail: `${setters} must not set runAsUser=0` };
};
