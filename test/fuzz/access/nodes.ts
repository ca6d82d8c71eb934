/**
 * The rights of a node: a second implementation of the node authorizer and the NodeRestriction plugin of release 1.24.
 */
import type { Dialect } from '#apimachinery/dialect.js';
import type { ResourceAsk } from '#test/fuzz/access/addresses.js';
import type { Account } from '#test/fuzz/access/policy.js';
import { objectsOf, type State, type Stored } from '#test/fuzz/access/state.js';

export function nodeName({ name, groups }: Account, dialect: Dialect): string | undefined {
  if (!groups.includes(dialect.groups.nodes) || !name.startsWith('system:node:')) return undefined;
  return name.slice('system:node:'.length) || undefined;
}

/** `verbs resource`, for all objects. */
const always = [
  'create tokenreviews',
  'create subjectaccessreviews',
  'create localsubjectaccessreviews',
  'get,list,watch services',
  'create,get,list,watch nodes',
  'update,patch nodes/status',
  'update,patch nodes',
  'create,update,patch events',
  'get,list,watch,create,delete pods',
  'update,patch pods/status',
  'create pods/eviction',
  'get endpoints',
  'create,get,list,watch certificatesigningrequests',
  'get,list,watch csidrivers',
  'get,list,watch runtimeclasses',
];

export function nodeMay(state: State, dialect: Dialect, node: string, ask: ResourceAsk): boolean {
  const { verb, resource, subresource, namespace, name } = ask;
  const own = ['get', 'create', 'update', 'patch', 'delete'].includes(verb) && subresource === '';
  switch (resource) {
    case 'secrets':
    case 'configmaps':
      if (!['get', 'list', 'watch'].includes(verb) || subresource !== '' || name === '') return false;
      return needs(state, dialect, node, resource).has(`${namespace}/${name}`);
    case 'persistentvolumeclaims': {
      const reads = subresource === '' && verb === 'get';
      const tells = subresource === 'status' && (verb === 'update' || verb === 'patch');
      return (reads || tells) && needs(state, dialect, node, 'claims').has(`${namespace}/${name}`);
    }
    case 'persistentvolumes': {
      const claim = state.get(`persistentvolumes/${name}`)?.['spec']?.claimRef;
      if (verb !== 'get' || subresource !== '' || claim === undefined) return false;
      return needs(state, dialect, node, 'claims').has(`${claim.namespace}/${claim.name}`);
    }
    case 'serviceaccounts':
      if (verb !== 'create' || subresource !== 'token') return false;
      return podsOn(state, dialect, node).some(
        ({ metadata, spec }) => metadata.namespace === namespace && spec.serviceAccountName === name,
      );
    case 'leases':
      return own && namespace === dialect.namespaces.nodeLease && (verb === 'create' || name === node);
    case 'csinodes':
      return own && (verb === 'create' || name === node);
    default: {
      const whole = subresource === '' ? resource : `${resource}/${subresource}`;
      return always.some((text) => text.split(' ')[1] === whole && text.split(' ')[0]?.split(',').includes(verb));
    }
  }
}

/** Without mirror pods, which the node creates itself. */
function podsOn(state: State, dialect: Dialect, node: string): Stored[] {
  return objectsOf(state, 'pods').filter(
    ({ metadata, spec }) =>
      spec.nodeName === node && metadata.annotations?.[dialect.annotations.configMirror] === undefined,
  );
}

/** `namespace/name` of objects that the pods of a node refer to. */
function needs(state: State, dialect: Dialect, node: string, what: 'secrets' | 'configmaps' | 'claims'): Set<string> {
  const references = new Set<string>();
  for (const { metadata, spec } of podsOn(state, dialect, node)) {
    for (const name of mentioned(spec, what)) references.add(`${metadata.namespace}/${name}`);
  }
  if (what !== 'secrets') return references;
  const claims = needs(state, dialect, node, 'claims');
  for (const { spec } of objectsOf(state, 'persistentvolumes')) {
    if (!claims.has(`${spec.claimRef?.namespace}/${spec.claimRef?.name}`)) continue;
    for (const reference of [spec.csi?.nodePublishSecretRef, spec.csi?.nodeStageSecretRef]) {
      if (reference !== undefined) references.add(`${reference.namespace}/${reference.name}`);
    }
  }
  return references;
}

const mentions = {
  secrets: {
    secretName: true,
    'secretRef.name': true,
    'secretKeyRef.name': true,
    'secret.name': true,
    'imagePullSecrets.name': true,
  },
  configmaps: { 'configMap.name': true, 'configMapRef.name': true, 'configMapKeyRef.name': true },
  claims: { claimName: true },
} as const;

/** Names anywhere in a pod's spec that refer to such an object. */
function mentioned(value: unknown, what: keyof typeof mentions, parent = ''): string[] {
  if (Array.isArray(value)) return value.flatMap((each) => mentioned(each, what, parent));
  if (typeof value !== 'object' || value === null) return [];
  const places: Readonly<Record<string, boolean>> = mentions[what];
  return Object.entries(value).flatMap(([key, each]) => {
    if (typeof each !== 'string') return mentioned(each, what, key);
    return places[key] === true || places[`${parent}.${key}`] === true ? [each] : [];
  });
}

/**
 * The reason why a node must not make this change; undefined if it may. `before` or `after` is absent if the object was
 * created or deleted.
 */
export function nodeChange(
  state: State,
  dialect: Dialect,
  node: string,
  { key, before, after }: { readonly key: string; readonly before?: Stored; readonly after?: Stored },
): string | undefined {
  const [resource = '', ...rest] = key.split('/');
  const own = rest.at(-1) === node;
  const same = (read: (object: Stored) => unknown) =>
    before === undefined || after === undefined || JSON.stringify(read(before)) === JSON.stringify(read(after));
  switch (resource) {
    case 'pods':
      if (before === undefined) return mirrorFailure(state, dialect, node, after ?? {});
      if (before['spec'].nodeName !== node) return 'a pod of another node';
      if (!same(({ metadata, spec }) => [metadata.labels, metadata.ownerReferences, spec]))
        return 'more of a pod than its status';
      return undefined;
    case 'nodes':
      if (!own) return 'another node';
      return same(({ metadata, spec }) => [restricted(metadata.labels), metadata.ownerReferences, spec?.taints])
        ? undefined
        : 'what steers pods to it';
    case 'persistentvolumeclaims':
      return after !== undefined && same(claimRest) ? undefined : 'more of a claim than how a resize goes';
    case 'leases':
      return own && rest[0] === dialect.namespaces.nodeLease ? undefined : 'a lease of another';
    case 'csinodes':
      return own ? undefined : 'a CSINode of another';
    case 'certificatesigningrequests':
      return before === undefined ? undefined : 'a request that is there';
    default:
      return `${resource} are none of its business`;
  }
}

function restricted(labels: Record<string, string> = {}): string[] {
  return Object.entries(labels).flatMap(([key, value]) =>
    key.includes('node-restriction.') ? [`${key}=${value}`] : [],
  );
}

function claimRest({ metadata, status = {}, ...others }: Stored): unknown {
  const { resourceVersion: _version, managedFields: _managed, ...kept } = metadata;
  const {
    capacity: _capacity,
    conditions: _conditions,
    allocatedResources: _allocated,
    resizeStatus: _resize,
    ...said
  } = status;
  return [others, kept, said];
}

function mirrorFailure(state: State, dialect: Dialect, node: string, { metadata, spec }: Stored): string | undefined {
  if (metadata?.annotations?.[dialect.annotations.configMirror] === undefined) return 'a pod that is no mirror';
  if (spec.nodeName !== node) return 'a pod for another node';
  const [owner, ...more] = metadata.ownerReferences ?? [];
  const uid = state.get(`nodes/${node}`)?.['metadata'].uid;
  if (more.length > 0 || owner?.kind !== 'Node' || owner.name !== node || owner.uid !== uid)
    return 'a pod that is not its own';
  if (owner.controller !== true || owner.blockOwnerDeletion === true)
    return 'a pod that it does not control, or that keeps it';
  const referred = (['secrets', 'configmaps', 'claims'] as const).flatMap((what) => mentioned(spec, what));
  return referred.length > 0 || (spec.serviceAccountName ?? '') !== '' ? 'a pod that refers to objects' : undefined;
}
