/** The secrets, config maps, claims and the service account that a pod's spec names. */
import { claimNameOf } from '#api/core/v1/pod/claims.js';
import type { Container, EphemeralContainer, Pod, Volume } from '#api/core/v1/types.gen.js';

export interface PodReferences {
  readonly secrets: ReadonlySet<string>;
  readonly configMaps: ReadonlySet<string>;
  readonly claims: ReadonlySet<string>;
  /** Empty when there is none. */
  readonly serviceAccount: string;
}

interface MutableReferences extends PodReferences {
  readonly secrets: Set<string>;
  readonly configMaps: Set<string>;
  readonly claims: Set<string>;
}

/** Names in the pod's namespace. */
export function podReferences(pod: Pod): PodReferences {
  const { spec, metadata } = pod;
  const references: MutableReferences = {
    secrets: new Set(),
    configMaps: new Set(),
    claims: new Set(),
    serviceAccount: spec.serviceAccountName ?? '',
  };
  for (const { name } of spec.imagePullSecrets ?? []) add(references.secrets, name);
  for (const container of [...spec.containers, ...(spec.initContainers ?? []), ...(spec.ephemeralContainers ?? [])])
    collectContainer(container, references);
  for (const volume of spec.volumes ?? []) collectVolume(volume, metadata.name ?? '', references);
  return references;
}

function add(names: Set<string>, name: string | undefined): void {
  if (name !== undefined && name !== '') names.add(name);
}

function collectContainer(container: Container | EphemeralContainer, references: MutableReferences): void {
  for (const { secretRef, configMapRef } of container.envFrom ?? []) {
    add(references.secrets, secretRef?.name);
    add(references.configMaps, configMapRef?.name);
  }
  for (const { valueFrom } of container.env ?? []) {
    add(references.secrets, valueFrom?.secretKeyRef?.name);
    add(references.configMaps, valueFrom?.configMapKeyRef?.name);
  }
}

function collectVolume(volume: Volume, podName: string, references: MutableReferences): void {
  add(references.secrets, volume.secret?.secretName);
  add(references.configMaps, volume.configMap?.name);
  add(references.claims, claimNameOf(podName, volume));
  for (const source of volume.projected?.sources ?? []) {
    add(references.secrets, source.secret?.name);
    add(references.configMaps, source.configMap?.name);
  }
  add(references.secrets, volume.azureFile?.secretName);
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
    add(references.secrets, reference?.name);
}
