/** The order in which `kustomize` prints: what others need comes first. Pure. */
import type { JsonObject } from '#apimachinery/codec/json/walk.js';
import { currentIdentity, type Identity, newResource } from '#cmd/orchctl/kustomize/identity.js';

const first = [
  ...['Namespace', 'ResourceQuota', 'StorageClass', 'CustomResourceDefinition', 'ServiceAccount', 'PodSecurityPolicy'],
  ...['Role', 'ClusterRole', 'RoleBinding', 'ClusterRoleBinding', 'ConfigMap', 'Secret', 'Endpoints', 'Service'],
  ...[
    'LimitRange',
    'PriorityClass',
    'PersistentVolume',
    'PersistentVolumeClaim',
    'Deployment',
    'StatefulSet',
    'CronJob',
  ],
  'PodDisruptionBudget',
];
const last = ['MutatingWebhookConfiguration', 'ValidatingWebhookConfiguration'];

function rank({ kind }: Identity): number {
  if (last.includes(kind)) return 1 + last.indexOf(kind);
  return first.includes(kind) ? first.indexOf(kind) - first.length : 0;
}

const kindText = ({ group, version, kind }: Identity) => [group || '~G', version || '~V', kind || '~K'].join('_');
const nameText = ({ namespace, name }: Identity) => [namespace || '~X', name || '~N'].join('|');

/** The objects as kustomize 4 orders them by default. */
export function inPrintOrder(objects: readonly JsonObject[]): JsonObject[] {
  const keyed = objects.map((object) => ({ object, identity: currentIdentity(newResource(object)) }));
  return keyed
    .toSorted(({ identity: a }, { identity: b }) => {
      const byRank = rank(a) - rank(b);
      return byRank !== 0 ? byRank : compare(kindText(a), kindText(b)) || compare(nameText(a), nameText(b));
    })
    .map(({ object }) => object);
}

function compare(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}
