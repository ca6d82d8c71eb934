/** Volume claims that are not bound, and why. */
import type { PersistentVolume, PersistentVolumeClaim } from '#api/core/v1/types.gen.js';
import type { StorageClass } from '#api/storage/v1/types.gen.js';
import { ago, event, pod } from '#insight/testing/objects.js';
import type { Situation } from '#insight/testing/situation.js';

export function claim(spec: object = {}, status: object = {}, metadata: object = {}): PersistentVolumeClaim {
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name: 'data', namespace: 'shop', uid: 'uid-data', creationTimestamp: ago(600), ...metadata },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '5Gi' } }, ...spec },
    status: { phase: 'Pending', ...status },
  };
}

export function storageClass(name: string, more: object = {}): StorageClass {
  return {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'StorageClass',
    metadata: { name },
    provisioner: 'example.com/disks',
    ...more,
  };
}

export function volume(name: string, spec: object = {}, phase = 'Available'): PersistentVolume {
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name },
    spec: { capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'], storageClassName: '', ...spec },
    status: { phase },
  };
}

export const user = pod({
  isReady: true,
  spec: { volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }] },
});
const failing = claim({ storageClassName: 'disks' });

export const claimSituations: readonly Situation[] = [
  {
    name: 'a claim without a class in a cluster without a default',
    about: claim(),
    objects: [storageClass('disks')],
    root: 'NoDefaultStorageClass',
    says: 'no class was the default',
  },
  {
    name: 'a claim of a class that does not exist',
    about: claim({ storageClassName: 'fast' }),
    objects: [storageClass('disks')],
    root: 'StorageClassMissing',
    says: 'StorageClass fast does not exist',
  },
  {
    name: 'a claim whose volume cannot be provisioned',
    about: failing,
    objects: [storageClass('disks')],
    events: [event(failing, 'ProvisioningFailed', 'failed to provision volume: quota of disks reached')],
    root: 'ProvisioningFailed',
    says: 'example.com/disks',
    quotes: 'quota of disks reached',
  },
  {
    name: 'a claim of a provisioner that does not run',
    about: failing,
    objects: [storageClass('disks')],
    root: 'ProvisionerSilent',
    says: 'has not answered',
  },
  {
    name: 'a claim that waits for its first pod',
    about: failing,
    objects: [storageClass('disks', { volumeBindingMode: 'WaitForFirstConsumer' })],
    root: 'WaitsForFirstPod',
    says: 'once a pod uses it',
  },
  {
    name: 'a claim that is larger than all free volumes',
    about: claim({ storageClassName: '' }),
    objects: [volume('small'), volume('old', {}, 'Released')],
    root: 'NoMatchingVolume',
    says: 'No free PersistentVolume has the size',
    quotes: '1Gi',
  },
  {
    name: 'a claim without any free volume',
    about: claim({ storageClassName: 'local' }),
    objects: [storageClass('local', { provisioner: 'kubernetes.io/no-provisioner' })],
    root: 'NoMatchingVolume',
    says: 'No PersistentVolume of this class is free',
  },
  {
    name: 'a claim of a volume that does not exist',
    about: claim({ volumeName: 'v1' }),
    objects: [],
    root: 'VolumeMissing',
    says: 'PersistentVolume v1 does not exist',
  },
  {
    name: 'a claim of a volume of another claim',
    about: claim({ volumeName: 'v1' }),
    objects: [
      volume(
        'v1',
        { claimRef: { kind: 'PersistentVolumeClaim', namespace: 'bank', name: 'data', uid: 'other' } },
        'Bound',
      ),
    ],
    root: 'VolumeTaken',
    says: 'belongs to another claim',
    quotes: 'bank/data',
  },
  {
    name: 'a claim whose volume was deleted',
    about: claim({ volumeName: 'v1' }, { phase: 'Lost' }),
    objects: [],
    root: 'VolumeLost',
    says: 'was deleted while the claim was bound',
  },
  {
    name: 'a deleted claim that a pod uses',
    about: claim({}, { phase: 'Bound' }, { deletionTimestamp: ago(60), finalizers: ['kubernetes.io/pvc-protection'] }),
    objects: [user],
    root: 'ClaimInUse',
    says: '1 pod no longer uses it',
    quotes: 'web-0',
  },
];
