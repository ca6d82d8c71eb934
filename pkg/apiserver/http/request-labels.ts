/** The labels of a request's series, as release 1.24 reports them. */
import type { ApiRequest } from '#apiserver/http/exchange.js';
import type { RequestInfo } from '#apiserver/http/request-info.js';

export const placeLabels = ['verb', 'group', 'version', 'resource', 'subresource', 'scope'] as const;
export type Place = Readonly<Record<(typeof placeLabels)[number], string>>;
/** A resource, by the labels that are its own. */
export type PlaceOf = Pick<Place, 'group' | 'version' | 'resource'>;

const applyType = 'application/apply-patch+yaml';

/** By the request's verb: the HTTP method, but for reads, which are told apart. */
const reportedVerbs: ReadonlyMap<string, string> = new Map([
  ['get', 'GET'],
  ['list', 'LIST'],
  ['watch', 'WATCH'],
  ['create', 'POST'],
  ['update', 'PUT'],
  ['patch', 'PATCH'],
  ['delete', 'DELETE'],
  ['deletecollection', 'DELETE'],
]);

/** Of requests that are for no resource, by their method. */
const plainVerbs: ReadonlyMap<string, string> = new Map([
  ['GET', 'GET'],
  ['HEAD', 'GET'],
  ['POST', 'POST'],
  ['PUT', 'PUT'],
  ['PATCH', 'PATCH'],
  ['DELETE', 'DELETE'],
]);

/** Paths that have series of their own. */
const healthPaths: ReadonlySet<string> = new Set(['/healthz', '/livez', '/readyz']);

const otherVerb = 'other';

/** What clients may make up is not in it: requests for what is not served differ by their method only. */
export function plainPlace(method: string, path: string | undefined): Place {
  const subresource = path !== undefined && healthPaths.has(path) ? path : '';
  return { verb: plainVerbs.get(method) ?? otherVerb, group: '', version: '', resource: '', subresource, scope: '' };
}

/** Of a request for a resource that is served. */
export function resourcePlace(request: Pick<ApiRequest, 'headers'>, info: RequestInfo): Place {
  const { group, version, resource, subresource } = info;
  return { verb: reportedVerb(request, info), group, version, resource, subresource, scope: scopeOf(info) };
}

/** One text for one place, made without the place. */
export function placeKey(request: Pick<ApiRequest, 'headers'>, info: RequestInfo): string {
  const { group, version, resource, subresource } = info;
  return `${reportedVerb(request, info)} ${group}/${version}/${resource}/${subresource} ${scopeOf(info)}`;
}

/** One text for one resource. */
export function resourceKey({ group, version, resource }: PlaceOf): string {
  return `${group}/${version}/${resource}`;
}

/** Empty, `All`, or `invalid`. */
export function dryRunLabel({ query }: RequestInfo): string {
  if (query.size === 0 || !query.has('dryRun')) return '';
  return query.getAll('dryRun').every((value) => value === 'All') ? 'All' : 'invalid';
}

function reportedVerb({ headers }: Pick<ApiRequest, 'headers'>, { verb }: RequestInfo): string {
  if (verb === 'patch' && headers['content-type'] === applyType) return 'APPLY';
  return reportedVerbs.get(verb) ?? otherVerb;
}

function scopeOf({ name, namespace, verb }: RequestInfo): string {
  if (name !== '' || verb === 'create') return 'resource';
  return namespace === '' ? 'cluster' : 'namespace';
}
