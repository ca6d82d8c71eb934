/** The identity of a stateful pod: ordinal, names, labels, host name and claims. As in release 1.24. Pure. */
import type { StatefulSet } from '#api/apps/v1/types.gen.js';
import type { PersistentVolumeClaim, Pod, PodTemplateSpec, Volume } from '#api/core/v1/types.gen.js';
import type { OwnerReference } from '#api/meta/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { podFromTemplate } from '#controllers/replicaset/pod-template.js';

const numberedName = /^(.*)-([0-9]{1,10})$/s;

/** `web-3` → 3 for a set `web`; undefined for other names. */
export function ordinalOf(set: StatefulSet, pod: Pod): number | undefined {
  const [, parent, digits] = numberedName.exec(pod.metadata.name ?? '') ?? [];
  const ordinal = Number(digits);
  return parent === set.metadata.name && ordinal < 2 ** 31 ? ordinal : undefined;
}

function podName(set: StatefulSet, ordinal: number): string {
  return `${set.metadata.name}-${ordinal}`;
}

function claimName(set: StatefulSet, template: PersistentVolumeClaim, ordinal: number): string {
  return `${template.metadata.name}-${podName(set, ordinal)}`;
}

/** The claims of an ordinal, by volume name. */
export function claimsOf(set: StatefulSet, ordinal: number): Map<string, PersistentVolumeClaim> {
  const claims = new Map<string, PersistentVolumeClaim>();
  for (const template of set.spec.volumeClaimTemplates ?? []) {
    const { status: _status, ...claim } = template;
    claims.set(template.metadata.name ?? '', {
      ...claim,
      metadata: {
        ...template.metadata,
        name: claimName(set, template, ordinal),
        namespace: set.metadata.namespace ?? '',
        labels: { ...template.metadata.labels, ...set.spec.selector?.matchLabels },
      },
    });
  }
  return claims;
}

/** The name of the pod's ControllerRevision. */
export function revisionOf(dialect: Dialect, pod: Pod): string | undefined {
  return pod.metadata.labels?.[dialect.labels.controllerRevisionHash];
}

export interface PodSource {
  readonly dialect: Dialect;
  readonly set: StatefulSet;
  readonly reference: OwnerReference;
}

export function newStatefulPod(
  source: PodSource,
  ordinal: number,
  revision: { readonly name: string; readonly template: PodTemplateSpec },
): Pod {
  const { dialect, set, reference } = source;
  const { name = '', namespace = '' } = set.metadata;
  const base = podFromTemplate(revision.template, { name, namespace }, reference);
  const pod = withIdentity(dialect, set, { ...base, metadata: { ...base.metadata, name: podName(set, ordinal) } });
  return {
    ...pod,
    metadata: {
      ...pod.metadata,
      labels: { ...pod.metadata.labels, [dialect.labels.controllerRevisionHash]: revision.name },
    },
    spec: { ...pod.spec, hostname: podName(set, ordinal), subdomain: set.spec.serviceName },
  };
}

/** Whether the pod has its name label and the volumes of its claims. */
export function hasIdentity(dialect: Dialect, set: StatefulSet, pod: Pod): boolean {
  const ordinal = ordinalOf(set, pod);
  if (ordinal === undefined || pod.metadata.labels?.[dialect.labels.statefulSetPodName] !== pod.metadata.name) {
    return false;
  }
  return (set.spec.volumeClaimTemplates ?? []).every((template) => {
    const volume = pod.spec.volumes?.find((each) => each.name === template.metadata.name);
    return volume?.persistentVolumeClaim?.claimName === claimName(set, template, ordinal);
  });
}

/** Adds the label and volumes of the pod's ordinal. */
export function withIdentity(dialect: Dialect, set: StatefulSet, pod: Pod): Pod {
  const ordinal = ordinalOf(set, pod) ?? 0;
  const claims = claimsOf(set, ordinal);
  const own: Volume[] = [...claims].map(([name, claim]) => ({
    name,
    persistentVolumeClaim: { claimName: claim.metadata.name ?? '', readOnly: false },
  }));
  const others = (pod.spec.volumes ?? []).filter((volume) => !claims.has(volume.name));
  const { name = '', labels } = pod.metadata;
  return {
    ...pod,
    metadata: { ...pod.metadata, labels: { ...labels, [dialect.labels.statefulSetPodName]: name } },
    spec: own.length === 0 ? pod.spec : { ...pod.spec, volumes: [...own, ...others] },
  };
}
