/** Paths of requests and of rules, in the one form in which they are compared. Pure. */

export interface RequestTarget {
  /** Path and query as the backend gets them: without dot segments. */
  readonly target: string;
  /** Of the path; see `comparablePath`. */
  readonly path: string;
}

/**
 * Undefined for what is no path, `*` among them. Segments `.` and `..`, percent-encoded ones too, are resolved before
 * anything is compared: a backend would do it, and a path must not lead around the rule that it matches.
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

/** Each segment percent-decoded; one that would become two, or that is encoded wrongly, stays as it is. */
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
