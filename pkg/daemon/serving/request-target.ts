/**
 * Parses a request's target once. Authorization, routing and upgrades use this result, so they cannot interpret a path
 * differently. Ambiguous paths are refused.
 */
import { badRequest } from '#apimachinery/errors/status.js';

export interface RequestTarget {
  readonly method: string;
  /** Decoded, as rules name it: `/containerLogs/web/front/main`. Keeps a trailing slash. */
  readonly path: string;
  /** Decoded path segments; none is empty or contains a slash. */
  readonly segments: readonly string[];
  readonly query: URLSearchParams;
  /** Normalized path and query, for the router. */
  readonly url: string;
}

const printable = /^[\x21-\x7e]+$/;
/** Not allowed in a decoded segment: separators, percent signs (double encoding) and control characters. */
const ambiguous = /[/\\%\p{Cc}]/u;

/**
 * Parses a target in origin form (RFC 9112, section 3.2.1). Throws 400 for other forms, fragments, dot segments, empty
 * segments, backslashes and double encoding.
 */
export function parseRequestTarget(method: string, target: string): RequestTarget {
  if (!printable.test(target)) throw refused('has characters that must be encoded');
  if (!target.startsWith('/')) throw refused('must begin with a slash');
  if (target.includes('#')) throw refused('must not have a fragment');
  const mark = target.indexOf('?');
  const encoded = mark < 0 ? target : target.slice(0, mark);
  const query = mark < 0 ? '' : target.slice(mark + 1);
  const parts = encoded.slice(1).split('/');
  const slashAtEnd = parts.at(-1) === '' ? '/' : '';
  if (slashAtEnd !== '') parts.pop();
  const segments = parts.map(decodedSegment);
  const end = segments.length === 0 ? '' : slashAtEnd;
  const url = `/${segments.map(encodeURIComponent).join('/')}${end}${mark < 0 ? '' : `?${query}`}`;
  return { method, path: `/${segments.join('/')}${end}`, segments, query: new URLSearchParams(query), url };
}

function decodedSegment(encoded: string): string {
  const segment = decoded(encoded);
  if (segment === '') throw refused('must not have empty segments');
  if (segment === '.' || segment === '..') throw refused('must not have dot segments');
  if (ambiguous.test(segment)) throw refused('must not have separators or percent signs inside of its segments');
  return segment;
}

function decoded(encoded: string): string {
  try {
    return decodeURIComponent(encoded);
  } catch (error) {
    throw badRequest('the request path is not valid percent-encoding', error);
  }
}

function refused(why: string) {
  return badRequest(`the request path ${why}`);
}

/** The query of a normalized URL. */
export function queryOf({ url }: { readonly url: string }): URLSearchParams {
  const mark = url.indexOf('?');
  return new URLSearchParams(mark < 0 ? '' : url.slice(mark + 1));
}
