/**
 * A minimal model of config maps and custom objects: a map from names to small values. The model-based test compares real API
 * servers with it. It shares no code with the servers.
 */

export type Texts = Readonly<Record<string, string>>;

/**
 * One object. `owners`: field (`data.x`, `labels.y`, or `data.` for the map itself) → managers (`Update:c1`, `Apply:a0`) that
 * own it.
 */
export interface Thing {
  readonly uid: string;
  readonly version: string;
  readonly labels: Texts;
  readonly data: Texts;
  readonly finalizers: readonly string[];
  /** `generateName`; empty for an explicit name, and after an update without it. */
  readonly base: string;
  readonly deleting: boolean;
  readonly owners: ReadonlyMap<string, ReadonlySet<string>>;
  /** Whether the object has managers; without any, updates add none (1.24's `skipNonApplied`). */
  readonly tracked: boolean;
}

export type State = ReadonlyMap<string, Thing>;

/** The part that clients choose. */
export type Content = Pick<Thing, 'labels' | 'data' | 'finalizers' | 'base'>;

/** The reason why a write is refused; undefined: it is accepted. */
export type Refusal = 'AlreadyExists' | 'Conflict' | 'Invalid' | 'NotFound';

export interface Change {
  readonly content: Content;
  readonly owners: Thing['owners'];
}

const sameTexts = (a: Texts, b: Texts): boolean => {
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => a[key] === b[key]);
};

const sameContent = (a: Content, b: Content): boolean =>
  a.base === b.base &&
  sameTexts(a.labels, b.labels) &&
  sameTexts(a.data, b.data) &&
  a.finalizers.join() === b.finalizers.join();

/** The fields that have owners, with their values. */
function fields({ labels, data }: Pick<Content, 'labels' | 'data'>): Map<string, string> {
  const all = new Map<string, string>();
  for (const [key, value] of Object.entries(labels)) all.set(`labels.${key}`, value);
  for (const [key, value] of Object.entries(data)) all.set(`data.${key}`, value);
  return all;
}

function contentOf(values: ReadonlyMap<string, string>, old: Thing | undefined): Content {
  const labels: Record<string, string> = {};
  const data: Record<string, string> = {};
  for (const [field, value] of values) {
    const [kind, key = ''] = field.split('.');
    if (kind === 'labels') labels[key] = value;
    else data[key] = value;
  }
  return { labels, data, finalizers: old?.finalizers ?? [], base: old?.base ?? '' };
}

const noOwners: Thing['owners'] = new Map();

/** The manager of existing fields when an object without managers is applied for the first time. */
const beforeFirstApply = 'Update:before-first-apply';

const maps = ['labels', 'data'] as const;
const isEmpty = (texts: Texts): boolean => Object.keys(texts).length === 0;

/** The creator owns all fields of a new object, maps included. */
export function created(content: Content, manager: string): Change {
  const parents = maps.filter((map) => !isEmpty(content[map])).map((map) => `${map}.`);
  const all = [...fields(content).keys(), ...parents];
  return { content, owners: new Map(all.map((field) => [field, new Set([manager])])) };
}

/** The manager that changes a field becomes its only owner. */
export function updated(old: Thing, content: Content, manager: string): Change {
  if (!old.tracked) return { content, owners: noOwners };
  const before = fields(old);
  const owners = new Map<string, ReadonlySet<string>>();
  for (const [field, value] of fields(content)) {
    const same = before.get(field) === value;
    owners.set(field, same ? (old.owners.get(field) ?? new Set()) : new Set([manager]));
  }
  for (const map of maps) {
    const field = `${map}.`;
    const held = old.owners.get(field);
    const [was, is] = [!isEmpty(old[map]), !isEmpty(content[map])];
    if (is && !was) owners.set(field, new Set([manager]));
    else if (held !== undefined && was === is) owners.set(field, held);
  }
  return { content, owners };
}

export interface Applied {
  /** Fields of other owners that would change. */
  readonly conflicts: readonly string[];
  readonly change: Change;
}

/** Server-side apply: the manager owns exactly the applied fields; fields it no longer applies are removed unless others own them. */
export function applied(old: Thing | undefined, content: Pick<Content, 'labels' | 'data'>, manager: string): Applied {
  const before = old === undefined ? new Map<string, string>() : fields(old);
  const owned = old === undefined ? noOwners : old.tracked ? old.owners : created(old, beforeFirstApply).owners;
  const config = fields(content);
  const values = new Map(before);
  const owners = new Map<string, ReadonlySet<string>>();
  const conflicts: string[] = [];
  for (const [field, value] of config) {
    const others = [...(owned.get(field) ?? [])].filter((owner) => owner !== manager);
    const same = before.get(field) === value;
    if (!same && before.has(field)) for (const _ of others) conflicts.push(field);
    values.set(field, value);
    owners.set(field, new Set(same ? [...others, manager] : [manager]));
  }
  for (const map of maps) {
    const field = `${map}.`;
    const others = [...(owned.get(field) ?? [])];
    const appears = !isEmpty(content[map]) && (old === undefined || isEmpty(old[map]));
    // The map itself may have an owner although its entries are removed.
    if (appears) conflicts.push(...others.map(() => field));
    else if (others.length > 0) owners.set(field, new Set(others));
  }
  for (const [field, managers] of owned) {
    if (config.has(field) || field.endsWith('.')) continue;
    const others = [...managers].filter((owner) => owner !== manager);
    if (others.length === 0 && managers.has(manager)) values.delete(field);
    else owners.set(field, new Set(others));
  }
  return { conflicts, change: { content: contentOf(values, old), owners } };
}

/** An object being deleted gets no new finalizers. */
export const addsFinalizers = (old: Thing, content: Content): boolean =>
  old.deleting && content.finalizers.some((finalizer) => !old.finalizers.includes(finalizer));

/** The state with the object, or without it when its last finalizer is removed. */
export function written(state: State, name: string, thing: Thing): State {
  const next = new Map(state);
  if (thing.deleting && thing.finalizers.length === 0) next.delete(name);
  else next.set(name, thing);
  return next;
}

export function removed(state: State, name: string): State {
  const next = new Map(state);
  next.delete(name);
  return next;
}

/** In the order of the store. */
export const inOrder = (state: State): [string, Thing][] => [...state].sort(([a], [b]) => (a < b ? -1 : 1));

/** An object on the wire, limited to the model's fields. */
export interface Wire {
  readonly metadata: {
    readonly uid: string;
    readonly generateName?: string;
    readonly resourceVersion: string;
    readonly labels?: Texts;
    readonly annotations?: Texts;
    readonly finalizers?: string[];
    readonly deletionTimestamp?: string;
    readonly managedFields?: readonly {
      readonly manager: string;
      readonly operation: string;
      readonly fieldsV1: {
        readonly 'f:data'?: object;
        readonly 'f:metadata'?: { readonly 'f:labels'?: object; readonly 'f:annotations'?: object };
      };
    }[];
  };
  readonly data?: Texts;
}

/** The content without the system's fields. */
export function readThing(object: Wire): Thing {
  const { uid, resourceVersion, labels = {}, annotations = {}, finalizers = [] } = object.metadata;
  const { deletionTimestamp, generateName = '', managedFields = [] } = object.metadata;
  const deleting = deletionTimestamp !== undefined;
  const owners = ownersOf(object);
  const content = { labels, data: object.data ?? annotations, finalizers, base: generateName };
  return { uid, version: resourceVersion, ...content, deleting, owners, tracked: managedFields.length > 0 };
}

/** Owners of labels and data in managedFields. */
function ownersOf({ metadata }: Wire): Thing['owners'] {
  const owners = new Map<string, Set<string>>();
  for (const { manager, operation, fieldsV1 } of metadata.managedFields ?? []) {
    const { 'f:labels': labels, 'f:annotations': annotations } = fieldsV1['f:metadata'] ?? {};
    const sets = { labels, data: fieldsV1['f:data'] ?? annotations };
    for (const map of maps) {
      const set = sets[map];
      if (set === undefined) continue;
      const members = Object.keys(set);
      // The map itself is `.` among its members, or an empty set without owned members.
      const owned = members.length === 0 ? ['.'] : members;
      for (const member of owned) {
        const field = member === '.' ? `${map}.` : `${map}.${member.slice(2)}`;
        owners.set(field, (owners.get(field) ?? new Set()).add(`${operation}:${manager}`));
      }
    }
  }
  return owners;
}

function sameOwners(a: Thing['owners'], b: Thing['owners']): boolean {
  const text = (owners: Thing['owners']) =>
    [...owners]
      .filter(([, managers]) => managers.size > 0)
      .map(([field, managers]) => `${field}=${[...managers].sort().join('+')}`)
      .sort()
      .join();
  return text(a) === text(b);
}

/** Whether the object on the wire equals the model's. */
export function isThing(object: Wire, thing: Thing, options: { version?: boolean } = {}): boolean {
  const read = readThing(object);
  return (
    read.uid === thing.uid &&
    (options.version === false || read.version === thing.version) &&
    read.deleting === thing.deleting &&
    sameContent(read, thing) &&
    sameOwners(read.owners, thing.owners)
  );
}

/** Whether a write would change nothing. */
export const isUnchanged = (old: Thing, { content, owners }: Change): boolean =>
  sameContent(old, content) && sameOwners(old.owners, owners);
