/** Query parameters of list and watch, validated against the matrix of specification 1, 4.6. */
import type { Dialect } from '#apimachinery/dialect.js';
import { badRequest, type FieldFailure } from '#apimachinery/errors/status.js';
import { forbiddenField, notSupported } from '#apimachinery/validation/failure.js';
import { FieldPath } from '#apimachinery/validation/path.js';
import { flag, integer } from '#apiserver/http/request-info.js';
import { type ContinueToken, decodeContinue } from '#apiserver/registry/continue-token.js';
import { requestedVersion, storedVersion } from '#apiserver/registry/object-metadata.js';
import { invalidCombination, invalidOptions } from '#apiserver/registry/request-errors.js';
import type { ReadVersion } from '#storage/resource-storage.js';

export interface ListRequest {
  readonly version: ReadVersion;
  readonly limit: number;
  readonly token?: ContinueToken;
}

const matchPath = FieldPath.of('resourceVersionMatch');

const latest: ReadVersion = { kind: 'latest' };
const any: ReadVersion = { kind: 'any' };

/** The version that a get requests. `isUncached`: whether an object must be as new as the store's. */
export function getVersion(query: URLSearchParams, isUncached: () => boolean): ReadVersion {
  const text = query.get('resourceVersion') ?? '';
  if (text === '') return latest;
  const revision = text === '0' ? 0n : requestedVersion(text);
  if (revision === 0n) return isUncached() ? latest : any;
  return { kind: 'notOlderThan', revision };
}

export interface ListSettings {
  /** Bounds continue tokens. */
  readonly scope: string;
  /** Whether the list must be as new as the store; 1.24 reads it from there. */
  readonly uncached?: boolean;
  /** False: lists are whole, and `limit` and `continue` are ignored. */
  readonly paged?: boolean;
}

/** Parses a list request. Throws 400 or 422 for invalid combinations. */
export function listRequest(
  dialect: Dialect,
  query: URLSearchParams,
  { scope, uncached = false, paged = true }: ListSettings,
): ListRequest {
  const match = query.get('resourceVersionMatch') ?? '';
  const text = query.get('resourceVersion') ?? '';
  const token = query.get('continue') ?? '';
  const most = count(query, 'limit');
  // Only watches use it, but lists also refuse a malformed one.
  count(query, 'timeoutSeconds');
  checkMatch(dialect, { match, resourceVersion: text, continuing: token, watch: false });
  if (query.has('sendInitialEvents')) {
    const path = FieldPath.of('sendInitialEvents');
    throw invalidOptions(dialect, 'ListOptions', [forbiddenField(path, 'sendInitialEvents is forbidden for list')]);
  }
  const [continuing, limit] = paged ? [token, most] : ['', 0];
  // 1.24 answers these lists from its store, which words a malformed version differently from its cache.
  const stored = uncached || continuing !== '' || (limit > 0 && text !== '0') || match === 'Exact';
  const revision = text === '' ? 0n : stored ? storedVersion(text) : requestedVersion(text);
  if (continuing !== '') {
    const from = decodeContinue(continuing, scope);
    if (text !== '' && text !== '0') {
      throw badRequest('specifying resource version is not allowed when using continue');
    }
    const version: ReadVersion =
      from.revision === undefined ? { kind: 'latest' } : { kind: 'exact', revision: from.revision };
    return { version, limit, token: from };
  }
  if (text === '') return { version: { kind: 'latest' }, limit };
  if (revision === 0n) return { version: uncached ? latest : any, limit };
  const exact = match === 'Exact' || (match === '' && limit > 0);
  return { version: exact ? { kind: 'exact', revision } : { kind: 'notOlderThan', revision }, limit };
}

interface MatchRequest {
  readonly match: string;
  readonly resourceVersion: string;
  readonly continuing: string;
  readonly watch: boolean;
}

/** Reports all failures at once, as 1.24 does. */
function checkMatch(dialect: Dialect, { match, resourceVersion, continuing, watch }: MatchRequest): void {
  if (match === '') return;
  const failures: FieldFailure[] = [];
  if (watch) failures.push(forbiddenField(matchPath, 'resourceVersionMatch is forbidden for watch'));
  if (resourceVersion === '') {
    failures.push(forbiddenField(matchPath, 'resourceVersionMatch is forbidden unless resourceVersion is provided'));
  }
  if (continuing !== '') {
    failures.push(forbiddenField(matchPath, 'resourceVersionMatch is forbidden when continue is provided'));
  }
  const unknown = match !== 'Exact' && match !== 'NotOlderThan';
  if (unknown) failures.push(notSupported(matchPath, match, ['Exact', 'NotOlderThan', '']));
  if (match === 'Exact' && resourceVersion === '0') {
    failures.push(forbiddenField(matchPath, 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'));
  }
  if (failures.length === 0) return;
  throw unknown || watch
    ? invalidOptions(dialect, 'ListOptions', failures)
    : invalidCombination(dialect, 'ListOptions', failures);
}

/** 0 if absent; a negative number counts as absent, as in 1.24. Throws 400. */
function count(query: URLSearchParams, name: string): number {
  return Math.max(0, integer(query, name) ?? 0);
}

export interface WatchRequest {
  readonly version: ReadVersion;
  readonly bookmarks: boolean;
  readonly sendInitialEvents: boolean;
  /** True if the client refuses initial events, although the requested version would include them. */
  readonly skipInitialEvents: boolean;
  /** Undefined: the server chooses. */
  readonly timeoutMs?: number;
}

/** Parses a watch request. Throws 400 or 422. */
export function watchRequest(dialect: Dialect, query: URLSearchParams): WatchRequest {
  const text = query.get('resourceVersion') ?? '';
  const match = query.get('resourceVersionMatch') ?? '';
  const initial = query.get('sendInitialEvents');
  const bookmarks = flag(query, 'allowWatchBookmarks');
  if (initial === null) {
    checkMatch(dialect, { match, resourceVersion: text, continuing: query.get('continue') ?? '', watch: true });
  } else if (match !== 'NotOlderThan') {
    const why = 'sendInitialEvents requires setting resourceVersionMatch to NotOlderThan';
    throw invalidOptions(dialect, 'ListOptions', [forbiddenField(matchPath, why)]);
  }
  const sendInitialEvents = initial !== null && flag(query, 'sendInitialEvents');
  const seconds = count(query, 'timeoutSeconds');
  // A watch has no limit, but the value must be a number.
  count(query, 'limit');
  const version = watchVersion(text, sendInitialEvents);
  const skipInitialEvents = initial !== null && !sendInitialEvents && version.kind !== 'exact';
  const timeout = seconds === 0 ? {} : { timeoutMs: seconds * 1000 };
  return { version, bookmarks, sendInitialEvents, skipInitialEvents, ...timeout };
}

function watchVersion(text: string, sendInitialEvents: boolean): ReadVersion {
  if (text === '') return { kind: 'latest' };
  const revision = requestedVersion(text);
  if (revision === 0n) return { kind: 'any' };
  return { kind: sendInitialEvents ? 'notOlderThan' : 'exact', revision };
}
