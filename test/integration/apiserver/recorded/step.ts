/** Requests whose answers were recorded from kube-apiserver 1.24.17, and the parts of answers that are compared. */

/** One request. A case's answers are compared in order. */
export interface Step {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  /** Media type of the body; absent: JSON. */
  readonly contentType?: string;
  readonly accept?: string;
  readonly body?: unknown;
  /** Paths of the answer's parts to compare; all others are ignored. */
  readonly parts?: readonly (readonly string[])[];
  /** Members of the answer to compare, if present; all others are ignored. */
  readonly members?: readonly string[];
  /** Writes the body to a key of the store itself, without an answer: `/registry/…`. */
  readonly isStored?: true;
  /** Repeats the request until the answer contains this text. Its answer is not compared. */
  readonly until?: string;
}

export interface Case {
  readonly name: string;
  readonly steps: readonly Step[];
}

export interface RecordedAnswer {
  readonly request: string;
  readonly status: number;
  /** The texts of `Warning` headers. */
  readonly warnings?: string;
  readonly body: unknown;
}

/** Values that differ between servers. */
const changing: ReadonlySet<string> = new Set([
  'uid',
  'resourceVersion',
  'creationTimestamp',
  'deletionTimestamp',
  'time',
  'lastTransitionTime',
]);

/** An object in a message, whose members may come in any order. */
const shownObject = /Invalid value: "\{(?:[^"\\]|\\.)*\}": /g;

/** Descriptions, which differ between servers. */
function isOwn(name: string, value: unknown): boolean {
  return typeof value === 'string' && (changing.has(name) || name === 'description');
}

/** The body as on both servers. */
export function comparable(value: unknown): unknown {
  if (typeof value === 'string') return value.replace(shownObject, 'Invalid value: <object>: ');
  if (Array.isArray(value)) return isManagers(value) ? inAnyOrder(value.map(comparable)) : value.map(comparable);
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(members.map(([name, member]) => [name, isOwn(name, member) ? '*' : comparable(member)]));
}

/** Managers are sorted by time, which differs if a second begins between two requests. */
function isManagers(list: readonly unknown[]): boolean {
  return list.some((entry) => typeof entry === 'object' && entry !== null && 'fieldsV1' in entry);
}

function inAnyOrder(list: readonly unknown[]): unknown[] {
  return list
    .map((entry) => ({ entry, text: JSON.stringify(entry) }))
    .sort((a, b) => (a.text < b.text ? -1 : 1))
    .map(({ entry }) => entry);
}

const customResourceDefinitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

export interface DefinedVersion {
  readonly name?: string;
  readonly schema: object;
  readonly [other: string]: unknown;
}

/** A definition with these versions, the first of which is stored; `other`: further members of its spec. */
export function definition(
  group: string,
  plural: string,
  kind: string,
  versions: readonly DefinedVersion[],
  other: object = {},
): object {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: 'Namespaced',
      names: { plural, kind },
      versions: versions.map(({ name = 'v1', schema, ...rest }, i) => ({
        name,
        served: true,
        storage: i === 0,
        schema: { openAPIV3Schema: schema },
        ...rest,
      })),
      ...other,
    },
  };
}

/** Adds the definition, and waits until its objects are served. */
export function defined(group: string, plural: string, body: object): readonly Step[] {
  return [
    { method: 'POST', path: customResourceDefinitions, body },
    { method: 'GET', path: `/apis/${group}/v1`, until: `"${plural}"` },
    // Objects are served a moment after their resource is announced.
    { method: 'GET', path: `/apis/${group}/v1/${plural}`, until: '"items"' },
  ];
}

/** An apply by a manager, with or without force. */
export function applied(path: string, manager: string, body: object, force = false): Step {
  return {
    method: 'PATCH',
    path: `${path}?fieldManager=${manager}${force ? '&force=true' : ''}`,
    contentType: 'application/apply-patch+yaml',
    body,
  };
}

/** Puts a value into the store, as another server might have left it. */
export function stored(key: string, value: object): Step {
  return { method: 'PUT', path: key, isStored: true, body: value };
}

export function merged(path: string, manager: string, body: object): Step {
  return {
    method: 'PATCH',
    path: `${path}?fieldManager=${manager}`,
    contentType: 'application/merge-patch+json',
    body,
  };
}
