/** What a pod makes its node need: the secrets, config maps and claims that its spec names. */
import { claimNameOf } from '#api/core/v1/pod/claims.js';
import type { Container, EphemeralContainer, Pod, Volume } from '#api/core/v1/types.gen.js';

export interface PodReferences {
  readonly secrets: ReadonlySet<string>;
  readonly configMaps: ReadonlySet<string>;
  readonly claims: ReadonlySet<string>;
  /** Empty when there is none. */
  readonly serviceAccount: string;
}

interface Collected extends PodReferences {
  readonly secrets: Set<string>;
  readonly configMaps: Set<string>;
  readonly claims: Set<string>;
}

/** Names without the namespace: all are in the pod's own. */
export function podReferences(pod: Pod): PodReferences {
  const { spec, metadata } = pod;
  const found: Collected = {
    secrets: new Set(),
    configMaps: new Set(),
    claims: new Set(),
    serviceAccount: spec.serviceAccountName ?? '',
  };
  for (const { name } of spec.imagePullSecrets ?? []) add(found.secrets, name);
  for (const container of [...spec.containers, ...(spec.initContainers ?? []), ...(spec.ephemeralContainers ?? [])])
    collectContainer(container, found);
  for (const volume of spec.volumes ?? []) collectVolume(volume, metadata.name ?? '', found);
  return found;
}

function add(names: Set<string>, name: string | undefined): void {
  if (name !== undefined && name !== '') names.add(name);
}

function collectContainer(container: Container | EphemeralContainer, found: Collected): void {
  for (const { secretRef, configMapRef } of container.envFrom ?? []) {
    add(found.secrets, secretRef?.name);
    add(found.configMaps, configMapRef?.name);
  }
  for (const { valueFrom } of container.env ?? []) {
    add(found.secrets, valueFrom?.secretKeyRef?.name);
    add(found.configMaps, valueFrom?.configMapKeyRef?.name);
  }
}

function collectVolume(volume: Volume, podName: string, found: Collected): void {
  add(found.secrets, volume.secret?.secretName);
  add(found.configMaps, volume.configMap?.name);
  add(found.claims, claimNameOf(podName, volume));
  for (const source of volume.projected?.sources ?? []) {
    add(found.secrets, source.secret?.name);
    add(found.configMaps, source.configMap?.name);
  }
  add(found.secrets, volume.azureFile?.secretName);
  for (const reference of [
    volume.cephfs?.secretRef,
    volume.cinder?.secretRef,
    volume.flexVolume?.secretRef,
    volume.iscsi?.secretRef,
    volume.rbd?.secretRef,
    volume.scaleIO?.secretRef,
    volume.storageos?.secretRef,
    volume.csi?.nodePublishSecretRef,
  ])
    add(found.secrets, reference?.name);
}
