/** Bodies for random requests: mostly valid, some of which request more than they seem to. */
import type { Dice } from '#test/fuzz/access/random.js';
import type { Aim } from '#test/fuzz/access/requests.js';
import type { State, Stored } from '#test/fuzz/access/state.js';
import { dialect, nodeNames, objectNames } from '#test/fuzz/access/world.js';

export interface Body {
  readonly body: string;
  readonly contentType: string;
}

const json = 'application/json';
const nothing: Body = { body: '', contentType: json };
const everything = [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }];
const rbac = dialect.groupName('rbac');

export function requestBody(dice: Dice, aim: Aim, state: State): Body {
  switch (aim.method) {
    case 'POST':
      return ofJson(posted(dice, aim, state));
    case 'PUT':
      return ofJson(merged(storedOf(aim, state), patchOf(dice, aim, state)));
    case 'PATCH':
      return patch(dice, aim, state);
    case 'DELETE':
      return dice.chance(0.3) ? ofJson(dice.one([{ gracePeriodSeconds: 0 }, { dryRun: ['All'] }, {}])) : nothing;
    default:
      return nothing;
  }
}

function ofJson(value: unknown): Body {
  return { body: JSON.stringify(value), contentType: json };
}

function patch(dice: Dice, aim: Aim, state: State): Body {
  const value = patchOf(dice, aim, state);
  const { kind, name } = aim;
  const apiVersion = kind.group === '' ? kind.version : `${kind.group}/${kind.version}`;
  switch (dice.below(6)) {
    case 0:
      return { body: JSON.stringify(value), contentType: 'application/strategic-merge-patch+json' };
    case 1: {
      const operations = Object.entries(value).map(([key, each]) => ({ op: 'add', path: `/${key}`, value: each }));
      return {
        body: JSON.stringify(operations.filter(({ path }) => path !== '/metadata')),
        contentType: 'application/json-patch+json',
      };
    }
    case 2: {
      const { metadata = {}, ...rest } = value as { metadata?: object };
      const applied = { apiVersion, kind: kind.kind, metadata: { ...metadata, name: name || 'made' }, ...rest };
      return { body: JSON.stringify(applied), contentType: 'application/apply-patch+yaml' };
    }
    default:
      return { body: JSON.stringify(value), contentType: 'application/merge-patch+json' };
  }
}

/** The stored object as a reader would send it back, without its marker. */
function storedOf({ kind, namespace, name, subresource }: Aim, state: State): Stored {
  const key = [kind.resource, namespace, name].filter((part) => part !== '').join('/');
  const stored = state.get(key) ?? { metadata: { name } };
  const {
    annotations: _annotations,
    managedFields: _managed,
    resourceVersion: _version,
    ...metadata
  } = stored['metadata'];
  const object = { ...stored, metadata };
  return subresource === 'scale' ? { metadata: { name, namespace }, spec: { replicas: 3 } } : object;
}

/** A JSON merge for objects without lists. */
function merged(object: Stored, change: Stored): Stored {
  const result: Stored = { ...object };
  for (const [key, value] of Object.entries(change)) {
    if (value === null) delete result[key];
    else if (typeof value === 'object' && !Array.isArray(value)) result[key] = merged(result[key] ?? {}, value);
    else result[key] = value;
  }
  return result;
}

function patchOf(dice: Dice, { kind, subresource }: Aim, state: State): Stored {
  if (subresource === 'scale') return { spec: { replicas: dice.below(5) } };
  const changes: (() => Stored)[] = [
    () => ({ metadata: { labels: { gather: 'yes' } } }),
    () => ({ metadata: { labels: { [`rbac.authorization.${dialect.apiDomain}/aggregate-to-view`]: 'true' } } }),
    () => ({ metadata: { finalizers: ['acme.example/keep'] } }),
    () => ({ metadata: { ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: 'mine', uid: 'gone' }] } }),
    () => ({ metadata: { annotations: { note: 'x' } } }),
  ];
  const more: Readonly<Record<string, (() => Stored)[]>> = {
    clusterroles: [() => ({ rules: everything }), () => ({ aggregationRule: null }), () => ({ rules: [] }), gathering],
    roles: [() => ({ rules: everything }), () => ({ rules: [] })],
    clusterrolebindings: [() => ({ subjects: [{ kind: 'Group', apiGroup: rbac, name: 'group' }] })],
    rolebindings: [() => ({ subjects: [{ kind: 'Group', apiGroup: rbac, name: 'group' }] })],
    persistentvolumeclaims: [
      () => ({ status: { capacity: { storage: '2Gi' } } }),
      () => ({ status: { phase: 'Lost' } }),
    ],
    nodes: [
      () => ({ metadata: { labels: { [`node-restriction.${dialect.labelDomain}/a`]: 'b' } } }),
      () => ({ spec: { taints: [{ key: 'a', effect: 'NoSchedule' }] } }),
      () => ({ status: { conditions: [] } }),
    ],
    pods: [() => ({ status: { message: 'x' } }), () => ({ metadata: { labels: { a: 'b' } } })],
    namespaces: [() => ({ spec: { finalizers: [] } })],
    certificatesigningrequests: [
      () => ({ status: { conditions: [{ type: 'Approved', status: 'True', reason: 'R', message: 'm' }] } }),
      () => ({ status: { certificate: Buffer.from(String(state.size)).toString('base64') } }),
    ],
  };
  return dice.one([...changes, ...(more[kind.resource] ?? []), ...(more[kind.resource] ?? [])])();
}

const gathering = (): Stored => ({
  aggregationRule: { clusterRoleSelectors: [{ matchLabels: { [dialect.labels.bootstrapping]: 'rbac-defaults' } }] },
});

function posted(dice: Dice, { kind, namespace, name, subresource }: Aim, state: State): Stored {
  const target = { metadata: { name: name || `made-${dice.below(1000)}` } };
  switch (subresource) {
    case 'binding':
      return { ...target, target: { kind: 'Node', name: dice.one(nodeNames) } };
    case 'eviction':
      return target;
    case 'token': {
      const pod = state.get(`pods/${namespace}/${dice.one(objectNames)}`);
      const { name: podName, uid } = pod?.['metadata'] ?? {};
      const bound = { boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name: podName, uid } };
      return { spec: { audiences: [], ...(dice.chance(0.7) ? bound : {}) } };
    }
    default:
      return { ...target, ...newOf(dice, kind.resource, state) };
  }
}

/** The rest of a new object. */
function newOf(dice: Dice, resource: string, state: State): Stored {
  const labels = { a: 'new' };
  const containers = [{ name: 'c', image: 'i' }];
  const roleRef = { apiGroup: rbac, kind: 'ClusterRole', name: dice.one(['strong', 'weak', 'gathered', 'view']) };
  const node = dice.one(nodeNames);
  switch (resource) {
    case 'pods': {
      const uid = dice.chance(0.7) ? state.get(`nodes/${node}`)?.['metadata'].uid : 'other';
      const owner = { apiVersion: 'v1', kind: 'Node', name: node, uid, controller: dice.chance(0.7) };
      const annotations = dice.chance(0.85) ? { [dialect.annotations.configMirror]: 'x' } : {};
      const ownerReferences = dice.chance(0.6) ? [owner] : [];
      const refers = dice.chance(0.3) ? [{ ...containers[0], envFrom: [{ secretRef: { name: 'mine' } }] }] : containers;
      return {
        metadata: { name: `made-${dice.below(1000)}`, annotations, ownerReferences },
        spec: { nodeName: node, automountServiceAccountToken: false, containers: refers },
      };
    }
    case 'services':
      return { spec: { ports: [{ port: 80 }] } };
    case 'deployments':
      return { spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec: { containers } } } };
    case 'clusterroles':
      return dice.one([{ rules: everything }, { rules: [] }, { ...gathering(), rules: [] }]);
    case 'roles':
      return dice.one([{ rules: everything }, { rules: [] }]);
    case 'clusterrolebindings':
    case 'rolebindings':
      return { roleRef, subjects: [{ kind: 'Group', apiGroup: rbac, name: 'group' }] };
    case 'leases':
    case 'csinodes':
      return { ...(dice.chance(0.7) ? { metadata: { name: node } } : {}), spec: { drivers: [] } };
    case 'persistentvolumeclaims':
      return { spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } } };
    default:
      return {};
  }
}
