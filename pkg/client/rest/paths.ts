/** URL paths of resources, with the layout of release 1.24. Pure. */
import type { Dialect } from '#apimachinery/dialect.js';
import { badRequest } from '#apimachinery/errors/status.js';
import type { ResourceDeclaration } from '#apimachinery/schema/schema.js';

export interface PathTarget {
  /** Ignored for cluster-scoped resources; absent: all namespaces. */
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
  /** May have several segments (`proxy/metrics`). */
  readonly subresource?: string | undefined;
}

/** `/api/v1/namespaces/a/pods/b/status`. Throws BadRequest for a name that is no valid path segment. */
export function resourcePath(dialect: Dialect, type: ResourceDeclaration, target: PathTarget): string {
  const group = dialect.groupName(type.group);
  let path = group === '' ? `/api/${type.version}` : `/apis/${group}/${type.version}`;
  if (type.namespaced && target.namespace !== undefined && target.namespace !== '') {
    path += `/namespaces/${pathSegment(target.namespace)}`;
  } else if (type.namespaced && target.name !== undefined) {
    throw badRequest('an empty namespace may not be set when a resource name is provided');
  }
  path += `/${type.resource}`;
  if (target.name !== undefined) path += `/${pathSegment(target.name)}`;
  if (target.subresource !== undefined) path += `/${target.subresource.split('/').map(pathSegment).join('/')}`;
  return path;
}

/** The text as one path segment. Throws BadRequest if it is not valid. */
export function pathSegment(text: string): string {
  if (text === '' || text === '.' || text === '..' || text.includes('/') || text.includes('%')) {
    throw badRequest(`invalid resource name ${JSON.stringify(text)}`);
  }
  return encodeURIComponent(text);
}

export type QueryValues = Readonly<Record<string, string | number | boolean | undefined>>;

/** `?a=1&b=x` of the set values; empty if there are none. */
export function queryString(values: QueryValues): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    if (value !== undefined && value !== '' && value !== false) query.append(name, String(value));
  }
  const text = query.toString();
  return text === '' ? '' : `?${text}`;
}
