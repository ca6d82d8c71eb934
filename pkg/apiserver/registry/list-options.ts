/** Query parameters of list and watch, checked against the matrix of specification 1, 4.6. */
import { badRequest } from '#apimachinery/errors/status.js';
import { flag } from '#apiserver/http/request-info.js';
import { type ContinueToken, decodeContinue } from '#apiserver/registry/continue-token.js';
import { invalidOptions } from '#apiserver/registry/request-errors.js';
import type { ReadVersion } from '#storage/resource-storage.js';
import type { Revision } from '#storage/store.js';

export interface ListRequest {
  readonly version: ReadVersion;
  readonly limit: number;
  readonly token?: ContinueToken;
}

/** A resource version as clients send it. Throws 400 for what no server gave out. */
export function parseResourceVersion(text: string): Revision {
  if (!/^\d{1,20}$/.test(text)) throw badRequest(`Invalid value: "${text}": invalid resourceVersion`);
  return BigInt(text);
}

/** The version that a get asks for. */
export function getVersion(query: URLSearchParams): ReadVersion {
  const text = query.get('resourceVersion') ?? '';
  if (text === '') return { kind: 'latest' };
  const revision = parseResourceVersion(text);
  return revision === 0n ? { kind: 'any' } : { kind: 'notOlderThan', revision };
}

/** What a list asks for. `scope` bounds continue tokens. Throws 400 or 422 for combinations that are invalid. */
export function listRequest(query: URLSearchParams, scope: string): ListRequest {
  const match = query.get('resourceVersionMatch') ?? '';
  const text = query.get('resourceVersion') ?? '';
  const continuing = query.get('continue') ?? '';
  const limit = parseLimit(query.get('limit'));
  checkMatch(match, text, continuing);
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

function checkMatch(match: string, resourceVersion: string, continuing: string): void {
  if (match === '') return;
  if (match !== 'Exact' && match !== 'NotOlderThan') {
    throw invalidOptions(
      'resourceVersionMatch',
      'NotSupported',
      `Unsupported value: "${match}": supported values: "Exact", "NotOlderThan"`,
    );
  }
  if (continuing !== '') {
    throw invalidOptions(
      'resourceVersionMatch',
      'Forbidden',
      'Forbidden: resourceVersionMatch is forbidden when continue is provided',
    );
  }
  if (resourceVersion === '') {
    throw invalidOptions(
      'resourceVersionMatch',
      'Forbidden',
      'Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided',
    );
  }
  if (match === 'Exact' && resourceVersion === '0') {
    throw invalidOptions(
      'resourceVersionMatch',
      'Forbidden',
      'Forbidden: resourceVersionMatch "exact" is forbidden for resourceVersion "0"',
    );
  }
}

function parseLimit(text: string | null): number {
  if (text === null || text === '') return 0;
  if (!/^-?\d{1,18}$/.test(text)) throw badRequest(`strconv.ParseInt: parsing "${text}": invalid syntax`);
  return Math.max(0, Number(text));
}

export interface WatchRequest {
  readonly version: ReadVersion;
  readonly bookmarks: boolean;
  readonly sendInitialEvents: boolean;
  /** Undefined: the server chooses. */
  readonly timeoutMs?: number;
}

/** What a watch asks for. Throws 400 or 422. */
export function watchRequest(query: URLSearchParams): WatchRequest {
  const text = query.get('resourceVersion') ?? '';
  const match = query.get('resourceVersionMatch') ?? '';
  const initial = query.get('sendInitialEvents');
  const bookmarks = flag(query, 'allowWatchBookmarks');
  if (initial === null && match !== '') {
    throw invalidOptions(
      'resourceVersionMatch',
      'Forbidden',
      'Forbidden: resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided',
    );
  }
  if (initial !== null && match !== 'NotOlderThan') {
    throw invalidOptions(
      'resourceVersionMatch',
      'Forbidden',
      'Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan',
    );
  }
  const sendInitialEvents = initial !== null && flag(query, 'sendInitialEvents');
  const seconds = query.get('timeoutSeconds');
  if (seconds !== null && seconds !== '' && !/^-?\d{1,9}$/.test(seconds)) {
    throw badRequest(`strconv.ParseInt: parsing "${seconds}": invalid syntax`);
  }
  const timeout =
    seconds === null || seconds === '' || Number(seconds) <= 0 ? {} : { timeoutMs: Number(seconds) * 1000 };
  return { version: watchVersion(text, initial !== null, sendInitialEvents), bookmarks, sendInitialEvents, ...timeout };
}

function watchVersion(text: string, explicit: boolean, sendInitialEvents: boolean): ReadVersion {
  if (text === '') return { kind: 'latest' };
  const revision = parseResourceVersion(text);
  if (revision === 0n) return { kind: 'any' };
  if (explicit && sendInitialEvents) return { kind: 'notOlderThan', revision };
  return { kind: 'exact', revision };
}
