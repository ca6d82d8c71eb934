/**
 * Parses a request's URL and method (specification 1, 4.1); no other code parses the URL. Pure: looks up no resources.
 *
 *     GET /apis/apps/v1/namespaces/web/deployments/front/scale
 *     → { verb: 'get', group: 'apps', version: 'v1', namespace: 'web', resource: 'deployments', name: 'front', subresource: 'scale' }
 */
import { quoted } from '#apimachinery/errors/message-values.js';
import { badRequest, StatusError } from '#apimachinery/errors/status.js';
import { everyField, type FieldSelector, parseFieldSelector } from '#apimachinery/selectors/fields.js';
import type { ApiRequest } from '#apiserver/http/exchange.js';

const subresources = new Set(['attach', 'exec', 'proxy', 'log', 'portforward']);

/** Requests that last until the client ends them; they have no time limit and do not count as in flight. */
export function isLongRunning(info: Pick<RequestInfo, 'resourceRequest' | 'verb' | 'subresource'>): boolean {
  return info.resourceRequest && (info.verb === 'watch' || info.verb === 'proxy' || subresources.has(info.subresource));
}

export interface RequestInfo {
  /** Path without the query; percent-encoding as received. */
  readonly path: string;
  /** The path's segments without empty ones, percent-encoding as received. */
  readonly segments: readonly string[];
  /** The query as received, with its question mark; empty without a query. */
  readonly search: string;
  readonly query: URLSearchParams;
  /** `get list watch create update patch delete deletecollection` for resources, the lower-case HTTP method for other paths. */
  readonly verb: string;
  readonly resourceRequest: boolean;
  /** Group name on the wire; empty for core. */
  readonly group: string;
  readonly version: string;
  /** Empty for cluster-scoped resources and for requests across all namespaces. */
  readonly namespace: string;
  readonly resource: string;
  readonly subresource: string;
  readonly name: string;
  /** Decoded path segments after the subresource, such as `a` and `b` of `…/proxy/a/b`. */
  readonly rest: readonly string[];
  /** The same path as received, with leading and trailing slashes: `/a/b`, or empty. */
  readonly tail: string;
  /** How the path addresses the resource: `namespace` and `name` alone are ambiguous. */
  readonly address: Address;
  /** The field selector of a request for several objects, or its error; selects everything for other requests. */
  readonly fields: FieldSelector | StatusError;
}

export interface Address {
  /** True below `/namespaces/NAME/`; false for a namespace itself, although `namespace` is its name. */
  readonly inNamespace: boolean;
  /** True if the path has a name; otherwise `name` comes from the field selector, if that selects one. */
  readonly named: boolean;
  /** True if a required segment is empty (`//`) or contains an encoded slash (`%2F`). */
  readonly broken: boolean;
}

/** As in 1.24, requests for resources with other methods have no verb. */
const methodVerbs: Readonly<Record<string, string>> = {
  POST: 'create',
  GET: 'get',
  HEAD: 'get',
  PUT: 'update',
  PATCH: 'patch',
  DELETE: 'delete',
};

/** After `/namespaces/NAME/`, these are subresources of the namespace, not resources inside it. */
const namespaceSubresources = new Set(['status', 'finalize']);

/** A boolean query parameter, as 1.24 reads it: false if absent, `0` or `false`; true otherwise, even without a value. */
export function flag(query: URLSearchParams, name: string): boolean {
  const value = query.get(name);
  if (value === null) return false;
  return value !== '0' && value.toLowerCase() !== 'false';
}

const maxInt64 = 2n ** 63n - 1n;

/** A 64-bit integer query parameter; undefined when absent. Throws 400 with the message of 1.24. */
export function integer(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  const refuse = (why: string) => badRequest(`strconv.ParseInt: parsing ${quoted(text)}: ${why}`);
  if (!/^[+-]?\d+$/.test(text)) throw refuse('invalid syntax');
  // Longer numbers are out of range without parsing.
  const value = text.length > 20 ? maxInt64 + 1n : BigInt(text.replace(/^\+/, ''));
  if (value > maxInt64 || value < -maxInt64 - 1n) throw refuse('value out of range');
  return Number(value);
}

/** Path and query of a URL, as received. */
export function splitURL(url: string): { readonly path: string; readonly search: string } {
  const mark = url.indexOf('?');
  return mark < 0 ? { path: url, search: '' } : { path: url.slice(0, mark), search: url.slice(mark) };
}

/** Throws 400 for malformed percent-encoding. */
export function requestInfo({ method, url }: Pick<ApiRequest, 'method' | 'url'>): RequestInfo {
  const { path, search } = splitURL(url);
  const encoded = segmentsOf(path);
  const segments = path.includes('//') ? encoded.filter((segment) => segment !== '') : encoded;
  const plain = { path, segments, search, query: new URLSearchParams(search) };
  const parts = path.includes('%') ? decodeSegments(encoded) : encoded;
  const groupless = parts[0] === 'api';
  if ((!groupless && parts[0] !== 'apis') || parts.length < (groupless ? 3 : 4)) {
    return {
      ...plain,
      verb: method.toLowerCase(),
      resourceRequest: false,
      group: '',
      version: '',
      namespace: '',
      resource: '',
      subresource: '',
      name: '',
      rest: noSegments,
      tail: '',
      address: noAddress,
      fields: everyField,
    };
  }
  const group = groupless ? '' : (parts[1] ?? '');
  const version = parts[groupless ? 1 : 2] ?? '';
  const brokenRoot = path.startsWith('//') || version === '' || (!groupless && group === '');
  return resourceInfo({ ...plain, group, version, brokenRoot, parts }, method);
}

/** Group and version of a discovery path. */
export function discoveredVersion({ segments }: Pick<RequestInfo, 'segments'>): Pick<RequestInfo, 'group' | 'version'> {
  const [root, first = '', second = ''] = segments;
  if (root === 'api') return { group: '', version: first };
  return root === 'apis' && second !== '' ? { group: first, version: second } : { group: '', version: '' };
}

interface Root extends Pick<RequestInfo, 'path' | 'segments' | 'search' | 'query' | 'group' | 'version'> {
  readonly brokenRoot: boolean;
  /** Decoded segments, empty ones included. */
  readonly parts: readonly string[];
}

function resourceInfo({ brokenRoot, parts: all, ...root }: Root, method: string): RequestInfo {
  const { path, query } = root;
  let parts = all.slice(all[0] === 'api' ? 2 : 3);
  let verb = methodVerbs[method] ?? '';
  // Deprecated form of a watch: `/api/v1/watch/…`.
  const oldWatch = parts[0] === 'watch' && parts.length > 1;
  if (oldWatch) {
    verb = 'watch';
    parts = parts.slice(1);
  }
  let namespace = '';
  let inNamespace = false;
  if (parts[0] === 'namespaces' && parts.length > 1) {
    namespace = parts[1] ?? '';
    inNamespace = parts.length > 2 && !namespaceSubresources.has(parts[2] ?? '');
    if (inNamespace) parts = parts.slice(2);
  }
  const resource = parts[0] ?? '';
  let name = parts[1] ?? '';
  const subresource = parts[2] ?? '';
  const named = name !== '';
  const broken =
    (inNamespace && (namespace === '' || namespace.includes('/'))) ||
    (parts.length > 1 && !named) ||
    (parts.length > 2 && subresource === '');
  if (name === '' && verb === 'get') verb = flag(query, 'watch') ? 'watch' : 'list';
  if (name === '' && verb === 'delete') verb = 'deletecollection';
  const fields = collectionVerbs.has(verb) ? selectedFields(query) : everyField;
  // A list or watch that selects one name is authorized for that name.
  if (name === '' && verb !== 'deletecollection') name = selectedName(fields);
  const rest = parts.length > 3 ? parts.slice(3) : noSegments;
  const tail = rest.length > 0 || subresource === 'proxy' ? pathAfter(path, all.length - rest.length) : '';
  const address = { inNamespace, named, broken: broken || brokenRoot };
  return { ...root, verb, resourceRequest: true, namespace, resource, subresource, name, rest, tail, address, fields };
}

function selectedFields(query: URLSearchParams): FieldSelector | StatusError {
  const text = query.get('fieldSelector') ?? '';
  if (text === '') return everyField;
  try {
    return parseFieldSelector(text);
  } catch (error) {
    // The error waits until the request is authorized.
    if (error instanceof StatusError) return error;
    throw error;
  }
}

/** The single name that the selector allows; empty without one, or if no object can have it. */
function selectedName(fields: FieldSelector | StatusError): string {
  const name = fields instanceof StatusError ? undefined : fields.exactValue('metadata.name');
  return name === undefined || name === '.' || name === '..' || /[/%]/.test(name) ? '' : name;
}

const collectionVerbs: ReadonlySet<string> = new Set(['list', 'watch', 'deletecollection']);

const noAddress: Address = { inNamespace: false, named: false, broken: false };
const noSegments: readonly string[] = [];
const slash = '/'.charCodeAt(0);

/** Splits the path, without empty segments at either end. */
function segmentsOf(path: string): string[] {
  let start = 0;
  let end = path.length;
  while (start < end && path.charCodeAt(start) === slash) start++;
  while (end > start && path.charCodeAt(end - 1) === slash) end--;
  return start === end ? [] : path.slice(start, end).split('/');
}

/** The rest of the path after `count` segments, counted as `segmentsOf` does. */
function pathAfter(path: string, count: number): string {
  let at = 0;
  while (path.charCodeAt(at) === slash) at++;
  for (let i = 0; i < count && at >= 0; i++) at = path.indexOf('/', i === 0 ? at : at + 1);
  return at < 0 ? '' : path.slice(at);
}

function decodeSegments(segments: readonly string[]): string[] {
  try {
    return segments.map(decodeURIComponent);
  } catch (error) {
    throw badRequest('the request path is not valid percent-encoding', error);
  }
}
