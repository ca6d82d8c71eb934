/** Links of pages: each page has an address of its own. Pure. */
import type { Kind } from '#dashboard/model/catalog.js';

export interface Place {
  /** Segments below `/ui/`, decoded. */
  readonly segments: readonly string[];
  readonly query: Readonly<Record<string, string>>;
}

const root = '/ui/';
const core = 'core';
const noNamespace = '-';

export function parsePlace(pathname: string, search: string): Place {
  const below = pathname.startsWith(root) ? pathname.slice(root.length) : '';
  const segments = below
    .split('/')
    .filter((segment) => segment !== '')
    .map(decoded);
  return { segments, query: Object.fromEntries(new URLSearchParams(search)) };
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

export function placeLink(
  segments: readonly string[],
  query: Readonly<Record<string, string | undefined>> = {},
): string {
  const given = Object.entries(query).filter((entry): entry is [string, string] => (entry[1] ?? '') !== '');
  const text = new URLSearchParams(given).toString();
  return `${root}${segments.map(encodeURIComponent).join('/')}${text === '' ? '' : `?${text}`}`;
}

export function kindLink(
  { group, resource }: Pick<Kind, 'group' | 'resource'>,
  query: Readonly<Record<string, string | undefined>> = {},
): string {
  return placeLink(['kinds', group === '' ? core : group, resource], query);
}

export function objectLink(
  { group, resource }: Pick<Kind, 'group' | 'resource'>,
  namespace: string | undefined,
  name: string,
  tab?: string,
): string {
  const inside = namespace === undefined || namespace === '' ? noNamespace : namespace;
  const more = tab === undefined ? [] : [tab];
  return placeLink(['objects', group === '' ? core : group, resource, inside, name, ...more]);
}

/** The group that a segment names. */
export function groupOf(segment: string): string {
  return segment === core ? '' : segment;
}

/** The namespace that a segment names; empty outside of namespaces. */
export function namespaceOf(segment: string): string {
  return segment === noNamespace ? '' : segment;
}
