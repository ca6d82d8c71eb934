/**
 * What a request is for, read once: authorization, routing and sessions all go by this description, so that none of them
 * can take a path for another than the rest does. Paths that different readers resolve differently are refused.
 */
import { badRequest } from '#apimachinery/errors/status.js';

export interface RequestTarget {
  readonly method: string;
  /** Decoded, as rules name it: `/containerLogs/web/front/main`. Ends with a slash where the request's did. */
  readonly path: string;
  /** The decoded parts of the path; none is empty, and none holds a slash. */
  readonly segments: readonly string[];
  readonly query: URLSearchParams;
  /** Path and query in their one encoding: what a router is given. */
  readonly url: string;
}

const printable = /^[\x21-\x7e]+$/;
/** After decoding: other separators, what a second decoding would change, and control characters. */
const ambiguous = /[/\\%\p{Cc}]/u;

/**
 * Reads a request's target in origin form (RFC 9112, section 3.2.1). Throws 400 for other forms, for fragments, and for
 * paths with dot segments, empty segments, backslashes or what is encoded twice.
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

/** The query of a URL that came out of a request's description. */
export function queryOf({ url }: { readonly url: string }): URLSearchParams {
  const mark = url.indexOf('?');
  return new URLSearchParams(mark < 0 ? '' : url.slice(mark + 1));
}
