/** Random requests for existing objects, in every spelling that a parser might confuse. */
import type { Kind } from '#test/fuzz/access/addresses.js';
import { requestBody } from '#test/fuzz/access/bodies.js';
import type { RawRequest } from '#test/fuzz/access/client.js';
import type { Account } from '#test/fuzz/access/policy.js';
import type { Dice } from '#test/fuzz/access/random.js';
import type { State } from '#test/fuzz/access/state.js';
import { dialect, namespaces, nodeNames, objectNames, pathOf, table } from '#test/fuzz/access/world.js';

/** The target of a request before it is altered. */
export interface Aim {
  readonly kind: Kind;
  readonly namespace: string;
  /** Empty for the collection. */
  readonly name: string;
  readonly subresource: string;
  readonly method: string;
}

const methods = ['GET', 'GET', 'GET', 'GET', 'POST', 'POST', 'PUT', 'PATCH', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS'];
const usualMethods: Readonly<Record<string, readonly string[]>> = {
  status: ['GET', 'PUT', 'PATCH', 'PATCH'],
  scale: ['GET', 'PUT', 'PATCH'],
  binding: ['POST'],
  eviction: ['POST'],
  token: ['POST'],
  approval: ['PUT', 'PATCH'],
  finalize: ['PUT'],
  log: ['GET'],
};

/** A request with a regular path, from an account that may make it or another one. */
export function straightRequest(dice: Dice, state: State, account: Account, accounts: readonly Account[]): RawRequest {
  if (dice.chance(0.06)) return otherPath(dice);
  const kind = kindFor(dice, account);
  const namespace = kind.namespaced && dice.chance(0.9) ? dice.one(namespaces) : '';
  const name = dice.chance(0.7) ? nameOf(dice, kind) : '';
  const subresource = name !== '' && dice.chance(0.35) ? dice.one([...kind.subresources, 'status']) : '';
  const method = dice.one(dice.chance(0.8) ? (usualMethods[subresource] ?? methods) : methods);
  const aim: Aim = { kind, namespace, name, subresource, method };
  const upgrade = dice.chance(/^(exec|attach|portforward|proxy)$/.test(subresource) ? 0.8 : 0.05);
  const { body, contentType } = requestBody(dice, aim, state);
  return {
    method,
    target: straightPath(dice, aim) + query(dice, aim),
    headers: {
      ...(body === '' ? {} : { 'content-type': contentType }),
      ...(upgrade ? upgradeHeaders : {}),
      ...(dice.chance(0.2) ? { accept: dice.one(accepts) } : {}),
      ...(dice.chance(0.03) ? { 'x-http-method-override': dice.one(methods) } : {}),
      ...(dice.chance(0.06) ? impersonation(dice, accounts) : {}),
    },
    body,
  };
}

const ofNodes: ReadonlySet<string> = new Set(['pods', 'secrets', 'persistentvolumeclaims', 'nodes', 'leases']);

function kindFor(dice: Dice, { groups }: Account): Kind {
  const only = (predicate: (kind: Kind) => boolean) => dice.one(table.filter(predicate));
  if (groups.includes(dialect.groups.nodes) && dice.chance(0.6)) return only(({ resource }) => ofNodes.has(resource));
  // Namespaces get extra weight, because they include their content.
  return dice.chance(0.1) ? only(({ resource }) => resource === 'namespaces') : dice.one(table);
}

const upgradeHeaders = {
  connection: 'Upgrade',
  upgrade: 'websocket',
  'sec-websocket-version': '13',
  'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
  'sec-websocket-protocol': 'v4.channel.k8s.io',
};

const tableOf = (include: string) => `application/json;as=${include};g=${dialect.groupName('meta')};v=v1`;
const accepts = [
  'application/yaml',
  `application/vnd.${dialect.shortName}.protobuf`,
  tableOf('Table'),
  tableOf('PartialObjectMetadata'),
  tableOf('PartialObjectMetadataList'),
  '*/*',
];

function impersonation(dice: Dice, accounts: readonly Account[]): Record<string, string> {
  const { name } = dice.one(accounts);
  const user = dice.chance(0.3) ? 'system:serviceaccount:tenant:mine' : name;
  const group = dice.one([dialect.groups.masters, dialect.groups.nodes, 'group']);
  return { 'impersonate-user': user, ...(dice.chance(0.3) ? { 'impersonate-group': group } : {}) };
}

function otherPath(dice: Dice): RawRequest {
  const path = dice.one([
    ...['/metrics', '/healthz', '/healthz/etcd', '/livez/', '/readyz', '/version', '/', '/api', '/apis', '/api/v1'],
    ...[
      '/openapi/v2',
      '/healthz/../metrics',
      '/healthz/%2e%2e/metrics',
      '//metrics',
      '/%6detrics',
      '/configz',
      '/logs/',
    ],
  ]);
  return { method: dice.one(['GET', 'GET', 'GET', 'HEAD', 'POST']), target: path, headers: {}, body: '' };
}

function nameOf(dice: Dice, { resource, namespaced }: Kind): string {
  switch (resource) {
    case 'namespaces':
      return dice.one(namespaces);
    case 'nodes':
    case 'csinodes':
      return dice.one(nodeNames);
    case 'persistentvolumes':
      return `${dice.one(namespaces)}-volume`;
    case 'clusterroles':
      return dice.one(['strong', 'weak', 'gathered']);
    case 'secrets':
      return dice.one([...objectNames, 'publish', 'expand']);
    case 'leases':
      return dice.one([...objectNames, ...nodeNames]);
    default:
      return dice.one(namespaced || dice.chance(0.5) ? objectNames : ['none']);
  }
}

function straightPath(dice: Dice, { kind, name, namespace: given, subresource }: Aim): string {
  const namespace = kind.resource === 'leases' && dice.chance(0.4) ? dialect.namespaces.nodeLease : given;
  const path = [pathOf(kind, namespace), name, subresource].filter((part) => part !== '').join('/');
  return subresource === 'proxy' ? path + dice.one(['', '/', '/pods', '/containerLogs/victim/mine/c', '/a?b=c']) : path;
}

/** The request with an altered or invalid path. */
export function alteredRequest(dice: Dice, request: RawRequest): RawRequest {
  const [path = '', query] = request.target.split(/\?(.*)/s);
  let bent = path;
  for (let bends = 1 + dice.below(2); bends > 0; bends -= 1) bent = dice.one(allBends)(bent, dice);
  return { ...request, target: query === undefined ? bent : `${bent}?${query}` };
}

type Bend = (path: string, dice: Dice) => string;

/** Inserts text before a segment of the path. */
const insert =
  (...pieces: readonly string[]): Bend =>
  (path, dice) => {
    const parts = path.split('/');
    const at = 1 + dice.below(parts.length);
    return [...parts.slice(0, at), dice.one(pieces), ...parts.slice(at)].join('/');
  };

const belowNamespace: Bend = (path) => path.replace(/^(\/apis?\/(?:[^/]+\/)?v1)\//, '$1/namespaces/tenant/');

const allBends: readonly Bend[] = [
  insert('', '.', '..', 'x/..', '%2e%2e', '%2E', 'x/%2e%2e', '..%2f', '\\..'),
  (path) => path.replace(/^(\/apis?\/(?:[^/]+\/)?v1)\//, '$1/watch/'),
  (path) => path.replace(/^(\/apis?\/(?:[^/]+\/)?v1)\//, '$1/proxy/'),
  // Cluster-scoped resources below a namespace, and the reverse.
  belowNamespace,
  belowNamespace,
  belowNamespace,
  (path) => path.replace(/^(\/apis?\/(?:[^/]+\/)?v1)\/(?!namespaces)/, '$1/watch/namespaces/tenant/'),
  (path) => path.replace(/\/namespaces\/[^/]+/, ''),
  // Another object.
  (path) => path.replace('/mine', '/other'),
  (path) => path.replace('/publish', '/expand'),
  (path) => path.replace('/tenant', '/victim'),
  (path) => path.replace('/n1', '/n2'),
  (path) => path.replace('/namespaces/tenant', '/namespaces/tenant/namespaces/victim'),
  (path) => path.replace('/namespaces/victim', '/namespaces/tenant/../victim'),
  (path) => path.replace('/victim/', '/tenant%2F..%2Fvictim/'),
  (path) => path.replace(/\/([^/]+)$/, '%2F$1'),
  (path, dice) => {
    const at = 1 + dice.below(path.length - 1);
    return `${path.slice(0, at)}%${path.charCodeAt(at).toString(16)}${path.slice(at + 1)}`;
  },
  (path) => `${path}/`,
  (path, dice) => `${path}/${dice.one(['status', 'finalize', 'log', 'proxy', 'token', 'mine', 'exec', 'scale'])}`,
  (path, dice) => `${path}/status/${dice.one(['status', 'mine'])}`,
  (path) => path.replace('/api/v1', '/apis/v1'),
  (path) => path.replace(/^\/apis\/[^/]+/, '/api'),
  (path) => path.replace('/v1/', '/v1beta1/'),
  (path) => `/${path}`,
  (path) => path.toUpperCase(),
];

function query(dice: Dice, { subresource, method, name }: Aim): string {
  const parts: string[] = [];
  const add = (probability: number, text: () => string) => {
    if (dice.chance(probability)) parts.push(text());
  };
  const reads = method === 'GET' || method === 'DELETE';
  add(reads ? 0.4 : 0.05, () => `fieldSelector=${encodeURIComponent(randomSelector(dice))}`);
  add(reads ? 0.25 : 0.02, () => `watch=${dice.one(['1', 'true', '', 'yes', '0', 'false'])}`);
  add(0.05, () => `labelSelector=${dice.one(['a', 'a=mine', 'a!=mine', '%21a'])}`);
  add(0.1, () => `resourceVersion=${dice.one(['0', '', '1'])}`);
  add(0.05, () => `limit=${dice.below(3)}`);
  add(0.1, () => 'dryRun=All');
  add(0.3, () => 'gracePeriodSeconds=0');
  add(method === 'PATCH' ? 0.5 : 0.05, () => 'fieldManager=m');
  add(0.05, () => `includeObject=${dice.one(['Object', 'Metadata', 'None'])}`);
  add(0.02, () => `namespace=victim&name=${name}`);
  if (/^(exec|attach)$/.test(subresource)) parts.push('command=id&stdout=1');
  return parts.length === 0 ? '' : `?${parts.join('&')}`;
}

function randomSelector(dice: Dice): string {
  const name = () => dice.one([...objectNames, ...namespaces, 'n1']);
  return dice.one([
    () => `metadata.name=${name()}`,
    () => `metadata.name==${name()}`,
    () => `metadata.name!=${name()}`,
    () => `metadata.name=${name()},metadata.name=${name()}`,
    () => `metadata.name!=${name()},metadata.name=${name()}`,
    () => `metadata.namespace=${dice.one(namespaces)}`,
    () => 'metadata.name=',
    () => ',',
    () => 'spec.nodeName=n1',
    () => 'type=Opaque',
    () => 'metadata.name',
  ])();
}
