/** Query parameters of list and watch, checked against the matrix of specification 1, 4.6. */
import type { Dialect } from '#apimachinery/dialect.js';
import { badRequest, type FieldFailure } from '#apimachinery/errors/status.js';
import { forbiddenField, invalidValue, notSupported } from '#apimachinery/validation/failure.js';
import { FieldPath } from '#apimachinery/validation/path.js';
import { flag, integer } from '#apiserver/http/request-info.js';
import { type ContinueToken, decodeContinue } from '#apiserver/registry/continue-token.js';
import { invalidCombination, invalidOptions } from '#apiserver/registry/request-errors.js';
import type { ReadVersion } from '#storage/resource-storage.js';
import type { Revision } from '#storage/store.js';

export interface ListRequest {
  readonly version: ReadVersion;
  readonly limit: number;
  readonly token?: ContinueToken;
}

const matchPath = FieldPath.of('resourceVersionMatch');

/** Versions have 64 bits. */
const maxRevision = 2n ** 64n - 1n;

/** A resource version as clients send it. Throws 400 for what no server gave out. */
function parseResourceVersion(text: string): Revision {
  const refuse = (why: string) => {
    const { field, message } = invalidValue(
      FieldPath.of('resourceVersion'),
      text,
      `strconv.ParseUint: parsing ${JSON.stringify(text)}: ${why}`,
    );
    return badRequest(`${field}: ${message}`);
  };
  if (!/^\d+$/.test(text)) throw refuse('invalid syntax');
  // What is longer needs no parsing to be too large.
  const revision = text.length > 20 ? maxRevision + 1n : BigInt(text);
  if (revision > maxRevision) throw refuse('value out of range');
  return revision;
}

const latest: ReadVersion = { kind: 'latest' };
const any: ReadVersion = { kind: 'any' };

/** The version that a get asks for. */
export function getVersion(query: URLSearchParams): ReadVersion {
  const text = query.get('resourceVersion') ?? '';
  if (text === '') return latest;
  if (text === '0') return any;
  const revision = parseResourceVersion(text);
  return revision === 0n ? any : { kind: 'notOlderThan', revision };
}

/** What a list asks for. `scope` bounds continue tokens. Throws 400 or 422 for combinations that are invalid. */
export function listRequest(dialect: Dialect, query: URLSearchParams, scope: string): ListRequest {
  const match = query.get('resourceVersionMatch') ?? '';
  const text = query.get('resourceVersion') ?? '';
  const continuing = query.get('continue') ?? '';
  const limit = count(query, 'limit');
  // Of watches only, and refused here too when it is no number.
  count(query, 'timeoutSeconds');
  checkMatch(dialect, { match, resourceVersion: text, continuing });
  if (query.has('sendInitialEvents')) {
    const path = FieldPath.of('sendInitialEvents');
    throw invalidOptions(dialect, 'ListOptions', [forbiddenField(path, 'sendInitialEvents is forbidden for list')]);
  }
  if (continuing !== '') {
    if (text !== '' && text !== '0') {
      throw badRequest('specifying resource version is not allowed when using continue');
    }
    const token = decodeContinue(continuing, scope);
    const version: ReadVersion =
      token.revision === undefined ? { kind: 'latest' } : { kind: 'exact', revision: token.revision };
    return { version, limit, token };
  }
  if (text === '') return { version: { kind: 'latest' }, limit };
  const revision = parseResourceVersion(text);
  if (revision === 0n) return { version: { kind: 'any' }, limit };
  const exact = match === 'Exact' || (match === '' && limit > 0);
  return { version: exact ? { kind: 'exact', revision } : { kind: 'notOlderThan', revision }, limit };
}

interface MatchRequest {
  readonly match: string;
  readonly resourceVersion: string;
  readonly continuing: string;
}

/** All that is wrong at once, as 1.24 tells it. */
function checkMatch(dialect: Dialect, { match, resourceVersion, continuing }: MatchRequest): void {
  if (match === '') return;
  const failures: FieldFailure[] = [];
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
  throw unknown
    ? invalidOptions(dialect, 'ListOptions', failures)
    : invalidCombination(dialect, 'ListOptions', failures);
}

/** 0 where there is none; negative numbers count as none, as in 1.24. Throws 400. */
function count(query: URLSearchParams, name: string): number {
  return Math.max(0, integer(query, name) ?? 0);
}

export interface WatchRequest {
  readonly version: ReadVersion;
  readonly bookmarks: boolean;
  readonly sendInitialEvents: boolean;
  /** The client has said that it wants no initial events although its version would bring them. */
  readonly skipInitialEvents: boolean;
  /** Undefined: the server chooses. */
  readonly timeoutMs?: number;
}

/** What a watch asks for. Throws 400 or 422. */
export function watchRequest(dialect: Dialect, query: URLSearchParams): WatchRequest {
  const text = query.get('resourceVersion') ?? '';
  const match = query.get('resourceVersionMatch') ?? '';
  const initial = query.get('sendInitialEvents');
  const bookmarks = flag(query, 'allowWatchBookmarks');
  const failures: FieldFailure[] = [];
  if (initial === null && match !== '') {
    failures.push(
      forbiddenField(matchPath, 'resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided'),
    );
  }
  if (initial !== null && match !== 'NotOlderThan') {
    failures.push(forbiddenField(matchPath, 'sendInitialEvents requires setting resourceVersionMatch to NotOlderThan'));
  }
  if (failures.length > 0) throw invalidOptions(dialect, 'ListOptions', failures);
  const sendInitialEvents = initial !== null && flag(query, 'sendInitialEvents');
  const seconds = count(query, 'timeoutSeconds');
  const version = watchVersion(text, sendInitialEvents);
  const skipInitialEvents = initial !== null && !sendInitialEvents && version.kind !== 'exact';
  const timeout = seconds === 0 ? {} : { timeoutMs: seconds * 1000 };
  return { version, bookmarks, sendInitialEvents, skipInitialEvents, ...timeout };
}

function watchVersion(text: string, sendInitialEvents: boolean): ReadVersion {
  if (text === '') return { kind: 'latest' };
  const revision = parseResourceVersion(text);
  if (revision === 0n) return { kind: 'any' };
  return { kind: sendInitialEvents ? 'notOlderThan' : 'exact', revision };
}
