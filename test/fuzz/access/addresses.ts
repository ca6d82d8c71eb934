/**
 * Parses raw requests by the path rules that release 1.24 documents: with a table and a regular expression, without any
 * code of the server. An irregular path never addresses an object.
 */
import type { Dialect } from '#apimachinery/dialect.js';

/** A resource with objects in the fuzzer's worlds. */
export interface Kind {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly kind: string;
  readonly namespaced: boolean;
  readonly subresources: readonly string[];
}

export interface ResourceAsk {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  /** The verb applies to several objects. */
  readonly collection: boolean;
}

export interface PathAsk {
  readonly verb: string;
  readonly path: string;
}

export type Ask = ResourceAsk | PathAsk;

const row = (
  [group, version]: readonly [string, string],
  resource: string,
  kind: string,
  subresources: readonly string[] = [],
  namespaced = true,
): Kind => ({ group, version, resource, kind, namespaced, subresources });

/** The kinds of the fuzzer's worlds, with their subresources. */
export function kinds(dialect: Dialect): Kind[] {
  const core = ['', 'v1'] as const;
  const of = (group: 'apps' | 'rbac' | 'coordination' | 'storage' | 'certificates') =>
    [dialect.groupName(group), 'v1'] as const;
  const rbac = of('rbac');
  const streams = ['log', 'exec', 'attach', 'portforward', 'proxy'];
  return [
    row(core, 'secrets', 'Secret'),
    row(core, 'configmaps', 'ConfigMap'),
    row(core, 'pods', 'Pod', ['status', 'binding', 'eviction', 'ephemeralcontainers', ...streams]),
    row(core, 'services', 'Service', ['status', 'proxy']),
    row(core, 'serviceaccounts', 'ServiceAccount', ['token']),
    row(core, 'persistentvolumeclaims', 'PersistentVolumeClaim', ['status']),
    row(of('apps'), 'deployments', 'Deployment', ['status', 'scale']),
    row(of('coordination'), 'leases', 'Lease'),
    row(rbac, 'roles', 'Role'),
    row(rbac, 'rolebindings', 'RoleBinding'),
    row(core, 'namespaces', 'Namespace', ['status', 'finalize'], false),
    row(core, 'nodes', 'Node', ['status', 'proxy'], false),
    row(core, 'persistentvolumes', 'PersistentVolume', ['status'], false),
    row(of('storage'), 'csinodes', 'CSINode', [], false),
    row(of('certificates'), 'certificatesigningrequests', 'CertificateSigningRequest', ['status', 'approval'], false),
    row(rbac, 'clusterroles', 'ClusterRole', [], false),
    row(rbac, 'clusterrolebindings', 'ClusterRoleBinding', [], false),
  ];
}

const verbs: Readonly<Record<string, string>> = {
  GET: 'get',
  HEAD: 'get',
  POST: 'create',
  PUT: 'update',
  PATCH: 'patch',
  DELETE: 'delete',
};

const proxied = /^(\/api\/v1\/(?:nodes\/[^/]+|namespaces\/[^/]+\/(?:pods|services)\/[^/]+)\/proxy)\/.*$/;

/** Undefined if the request addresses nothing. */
export function askOf(table: readonly Kind[], method: string, target: string): Ask | undefined {
  const [rawPath = '', query = ''] = target.split(/\?(.*)/s);
  const asPath = { verb: method.toLowerCase(), path: rawPath };
  // A path behind a proxy is for the target of the proxy.
  const address = rawPath.replace(proxied, '$1');
  const segments = decoded(address.slice(1).replace(/\/+$/, ''));
  if (!rawPath.startsWith('/') || segments === undefined) return asPath;
  // Trailing slashes are insignificant for resources, but part of other paths.
  const path = `/${segments.join('/')}`;
  if (!/^\/apis?\/[^/]+\/[^/]/.test(path) || /^\/apis\/[^/]+\/[^/]+\/?$/.test(path)) {
    return asPath;
  }
  const match = /^\/(?:api\/(v1)|apis\/([^/]+)\/([^/]+))(\/watch)?\/(.+?)\/?$/.exec(path);
  if (match === null) return undefined;
  const [, coreVersion, namedGroup = '', namedVersion = '', watch, below = ''] = match;
  const [group, version] = coreVersion === undefined ? [namedGroup, namedVersion] : ['', coreVersion];
  const place = placeOf(
    table.filter((kind) => kind.group === group && kind.version === version),
    below.split('/'),
  );
  if (place === undefined || (namedGroup === '' && coreVersion === undefined)) return undefined;
  return verbOf(place, { method, query: new URLSearchParams(query), watch: watch !== undefined, group });
}

/** Undefined for segments that are empty or refer to other segments. */
function decoded(path: string): string[] | undefined {
  try {
    const segments = path.split('/').map(decodeURIComponent);
    return segments.some((each) => /^\.{0,2}$|[/\\%\s]/.test(each)) ? undefined : segments;
  } catch {
    return undefined;
  }
}

interface Place {
  readonly resource: string;
  readonly namespace: string;
  readonly name: string;
  readonly subresource: string;
}

function placeOf(table: readonly Kind[], parts: readonly string[]): Place | undefined {
  const find = (resource: string | undefined, namespaced: boolean) =>
    table.find((kind) => kind.resource === resource && kind.namespaced === namespaced);
  const [first = '', second = '', third = '', fourth = '', fifth = ''] = parts;
  const place = (kind: Kind | undefined, namespace: string, name: string, subresource: string, more: number) => {
    if (kind === undefined || (subresource !== '' && !kind.subresources.includes(subresource))) return undefined;
    if (more > 0 && subresource !== 'proxy') return undefined;
    return { resource: kind.resource, namespace, name, subresource };
  };
  if (first === 'namespaces' && (parts.length < 3 || third === 'status' || third === 'finalize')) {
    // Rights in a namespace include the namespace object itself.
    return place(find('namespaces', false), second, second, third, parts.length - 3);
  }
  if (first === 'namespaces') return place(find(third, true), second, fourth, fifth, parts.length - 5);
  if (parts.length === 1 && find(first, true) !== undefined) return place(find(first, true), '', '', '', 0);
  return place(find(first, false), '', second, third, parts.length - 3);
}

interface How {
  readonly method: string;
  readonly query: URLSearchParams;
  readonly watch: boolean;
  readonly group: string;
}

function verbOf(place: Place, { method, query, watch: oldWatch, group }: How): ResourceAsk | undefined {
  let verb = verbs[method];
  if (verb === undefined) return undefined;
  const flag = query.get('watch');
  // The parameter has no effect if an object is named.
  const watchParameter = place.name === '' && verb === 'get' && flag !== null && !/^(0|false)$/i.test(flag);
  // A path below watch has no other verbs and no subresources.
  if (oldWatch && (verb !== 'get' || place.subresource !== '')) return undefined;
  const watch = oldWatch || watchParameter;
  const selected = /(?:^|,)metadata\.name==?([a-z0-9.-]+)(?:,|$)/.exec(query.get('fieldSelector') ?? '')?.[1] ?? '';
  if (watch) return { ...place, group, verb: 'watch', name: place.name || selected, collection: place.name === '' };
  if (place.name !== '') return { ...place, group, verb, collection: false };
  if (verb === 'delete') verb = 'deletecollection';
  if (verb === 'get') return { ...place, group, verb: 'list', name: selected, collection: true };
  return verb === 'create' || verb === 'deletecollection' ? { ...place, group, verb, collection: true } : undefined;
}
