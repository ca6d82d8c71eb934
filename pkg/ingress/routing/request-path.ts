/** Normalizes paths of requests and rules for comparison. Pure. */

export interface RequestTarget {
  /** Path and query for the backend, without dot segments. */
  readonly target: string;
  /** The path in the form of `comparablePath`. */
  readonly path: string;
}

/**
 * Undefined for anything but a path, such as `*`. Dot segments, even percent-encoded ones, are resolved before
 * matching: backends resolve them, and a path must not bypass its rule.
 */
export function requestTarget(url: string): RequestTarget | undefined {
  const mark = url.indexOf('?');
  const raw = mark < 0 ? url : url.slice(0, mark);
  if (!raw.startsWith('/') || url.includes('#')) return undefined;
  const path = raw.includes('.') || raw.includes('%') ? withoutDots(raw) : raw;
  return { target: mark < 0 ? path : path + url.slice(mark), path: comparablePath(path) };
}

function withoutDots(path: string): string {
  const segments = path.split('/');
  if (!segments.some(isDots)) return path;
  const kept: string[] = [];
  for (const segment of segments.slice(1)) {
    if (!isDots(segment)) kept.push(segment);
    else if (decoded(segment) === '..') kept.pop();
  }
  const last = segments.at(-1) ?? '';
  return `/${kept.join('/')}${isDots(last) && kept.length > 0 ? '/' : ''}`;
}

function isDots(segment: string): boolean {
  if (segment.length === 0 || segment.length > '%2e%2e'.length) return false;
  const text = decoded(segment);
  return text === '.' || text === '..';
}

/** Percent-decodes each segment, unless the result would contain a slash or the encoding is invalid. */
export function comparablePath(path: string): string {
  return path.includes('%') ? path.split('/').map(decoded).join('/') : path;
}

function decoded(segment: string): string {
  if (!segment.includes('%')) return segment;
  try {
    const text = decodeURIComponent(segment);
    return text.includes('/') ? segment : text;
  } catch {
    return segment;
  }
}
