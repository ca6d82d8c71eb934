import { claimNamesOf } from '#api/core/v1/pod/claims.js';
import type { PersistentVolume, PersistentVolumeClaim } from '#api/core/v1/types.gen.js';
import { storageClassOf } from '#api/core/v1/volume/storage-class.js';
import { keyFor } from '#apimachinery/object-key.js';
import type { Refusal } from '#scheduler/decision/prepared-filter.js';
import type { Fix, Trial } from '#scheduler/explain/trial.js';

/** Creates a missing claim or volume, or labels the node to match a volume's location. */
export function volumeFixes({ rejection }: Refusal, trial: Trial): Fix[] {
  const { objects } = trial.copy;
  const { namespace = '' } = trial.pod.metadata;
  for (const name of claimNamesOf(trial.pod)) {
    const claim = objects.storage.claim(keyFor(namespace, name));
    if (claim === undefined) {
      const ephemeral = trial.pod.spec.volumes?.some((volume) => volume.ephemeral !== undefined) === true;
      return ephemeral ? [] : [createClaim(namespace, name)];
    }
    const volumeName = claim.spec.volumeName ?? '';
    const volume = objects.storage.volume(volumeName);
    if (volume === undefined) {
      if (volumeName === '' || claim.status?.phase === 'Lost' || rejection.unresolvable === true) {
        return [createVolume(claim)];
      }
      continue;
    }
    const labels = placeOf(volume, trial);
    if (Object.keys(labels).length > 0) return [moveNode(labels, volume)];
  }
  return [];
}

function createClaim(namespace: string, name: string): Fix {
  return (trial) => {
    trial.createClaim({
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { namespace, name },
      spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } }, storageClassName: '' },
    });
    return `create the claim ${namespace}/${name}`;
  };
}

/** A manually created volume: only its provisioner could tell whether one can be provisioned. */
function createVolume(claim: PersistentVolumeClaim): Fix {
  return (trial) => {
    const { name = '', namespace = '' } = claim.metadata;
    const volumeName = claim.spec.volumeName ?? '';
    const volume: PersistentVolume = {
      apiVersion: 'v1',
      kind: 'PersistentVolume',
      metadata: { name: volumeName === '' ? `${namespace}-${name}` : volumeName },
      spec: {
        capacity: { storage: claim.spec.resources?.requests?.['storage'] ?? '1Gi' },
        accessModes: claim.spec.accessModes ?? ['ReadWriteOnce'],
        storageClassName: storageClassOf(claim, trial.dialect),
        volumeMode: claim.spec.volumeMode ?? 'Filesystem',
        persistentVolumeReclaimPolicy: 'Retain',
        hostPath: { path: `/var/lib/volumes/${namespace}-${name}`, type: 'DirectoryOrCreate' },
        claimRef: { apiVersion: 'v1', kind: 'PersistentVolumeClaim', namespace, name },
      },
    };
    trial.createVolume(volume, claim);
    return `create a volume for the claim ${namespace}/${name}`;
  };
}

/** The labels that the node lacks to be in the volume's location. */
function placeOf({ metadata, spec }: PersistentVolume, { dialect, node }: Trial): Record<string, string> {
  const labels: Record<string, string> = {};
  for (const key of [dialect.labels.zone, dialect.labels.region]) {
    const values = metadata.labels?.[key]?.split('__');
    const [first] = values ?? [];
    if (first !== undefined && values?.includes(node.labels[key] ?? '') === false) labels[key] = first;
  }
  const [term] = spec.nodeAffinity?.required?.nodeSelectorTerms ?? [];
  for (const { key, operator, values = [] } of term?.matchExpressions ?? []) {
    const [first] = values;
    if (operator === 'In' && first !== undefined && !values.includes(node.labels[key] ?? '')) labels[key] = first;
  }
  return labels;
}

function moveNode(labels: Readonly<Record<string, string>>, { metadata }: PersistentVolume): Fix {
  return (trial) => {
    trial.patchNode({ metadata: { labels } });
    const shown = Object.entries(labels).map(([key, text]) => `${key}=${text}`);
    return `have a node where volume ${metadata.name} is: label ${trial.node.name} with ${shown.join(' ')}`;
  };
}
