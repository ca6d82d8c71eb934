/** A served resource: its declaration and everything needed to answer requests for it. */
import type { ApiObjectShape } from '#api/meta/object.js';
import type { Strategy } from '#api/strategy/strategy.js';
import type { OtherVersions } from '#apimachinery/apply/conversions.js';
import { allSteps, andThen, inSteps, type MaybePromise, type Pause, type Steps } from '#apimachinery/async/steps.js';
import type { Cancellation } from '#apimachinery/cancellation.js';
import { nullsOf, withNulls, withoutNulls } from '#apimachinery/codec/json/empty-members.js';
import { parseJSONSteps, parseJSONText } from '#apimachinery/codec/json/text.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { quoted } from '#apimachinery/errors/message-values.js';
import { badRequest, pathNotFound, type Qualified } from '#apimachinery/errors/status.js';
import { toJSONText } from '#apimachinery/json-text.js';
import type { ResourceDeclaration } from '#apimachinery/schema/schema.js';
import type { TypeInfo } from '#apimachinery/schema/type-info.js';
import { pathSegmentErrors } from '#apimachinery/validation/names.js';
import type { TypeRef } from '#apiserver/resources/codec.js';
import type { LargeView } from '#apiserver/resources/large-views.js';
import type { RemoteConversion, ServedConversion, StoredVersionOf } from '#apiserver/resources/served-conversion.js';
import { encodeStored, type StorableObject, splice } from '#storage/layout.js';
import type { Entry, EntryBytes, ResourceStorage } from '#storage/resource-storage.js';
import type { Revision } from '#storage/store.js';

const lineFeed = Buffer.from('\n');

/** An object in a response but not in the store: a dry run's result, or the last state of a removed object. */
export class TransientEntry implements Entry {
  readonly key: string;
  readonly revision: Revision;
  readonly stored: Buffer;
  readonly #encoded = new Map<string, Buffer>();
  readonly #type: TypeInfo | undefined;

  /** Revision 0: the object has no version. `type`: the stored object's type, if it may have null lists. */
  constructor(key: string, stored: Buffer, revision: Revision, type?: TypeInfo) {
    this.#type = type;
    this.key = key;
    this.stored = stored;
    this.revision = revision;
  }

  get size(): number {
    return this.json().length;
  }

  json(): Buffer {
    return this.revision === 0n ? this.stored : splice(this.stored, this.revision);
  }

  jsonBytes(): Buffer {
    return this.json();
  }

  line(): Buffer {
    return Buffer.concat([this.json(), lineFeed]);
  }

  object(): ApiObjectShape {
    return this.#shaped(parseJSONText(this.json().toString()));
  }

  outline(): ApiObjectShape {
    return this.object();
  }

  *objectSteps(): Steps<ApiObjectShape> {
    return this.#shaped(yield* parseJSONSteps(this.json()));
  }

  #shaped(value: unknown): ApiObjectShape {
    const object = value as ApiObjectShape;
    return this.#type === undefined ? object : withoutNulls(this.#type, object);
  }

  encoded(name: string, make: (entry: Entry) => Buffer): Buffer {
    const bytes = this.#encoded.get(name) ?? make(this);
    this.#encoded.set(name, bytes);
    return bytes;
  }

  encodedBytes(name: string, make: (entry: Entry) => Buffer): Buffer {
    return this.encoded(name, make);
  }

  keeps(name: string): boolean {
    return this.#encoded.has(name);
  }

  attributes<T>(make: (entry: Entry) => T): T {
    return make(this);
  }
}

export interface ServedResource {
  readonly declaration: ResourceDeclaration;
  /** Group name on the wire; empty for core. */
  readonly group: string;
  /** For example `v1` or `apps/v1`. */
  readonly apiVersion: string;
  readonly qualified: Qualified;
  readonly strategy: Strategy;
  readonly storage: ResourceStorage;
  /** Type of the objects in this version. */
  readonly type: TypeInfo;
  /** The stored form, which selectors read. */
  readonly stored: StoredVersionOf;
  /** Absent if objects are stored in this version. */
  readonly conversion?: ServedConversion;
  /** Lifetime of this resource's objects; absent: unlimited. */
  readonly ttlSeconds?: number;
  /** The kind of lists, if it is not `<kind>List`. */
  readonly listKind?: string;
  /** The other versions of a custom kind, for field ownership; absent if there are none. */
  readonly otherVersions?: OtherVersions | undefined;
  /** Warning for clients of this version of a custom kind. */
  readonly deprecationWarning?: string | undefined;
  /** The definition is being deleted, so no object may be created. */
  readonly isTerminating?: boolean;
  /** Distinguishes cached data of entries for successive definitions of a custom kind. */
  readonly edition?: string;
  /** Custom kinds: aborts when the definition changes; then watches end, as in 1.24. */
  readonly retired?: Cancellation;
  /** Custom kinds: the resource with its full type, built for each caller and not kept. Throws 404 once the version is gone. */
  described?(): DescribedResource;
}

/** The part of a resource that API documents describe. */
export type DescribedResource = Pick<ServedResource, 'declaration' | 'group' | 'apiVersion' | 'listKind' | 'type'>;

/**
 * Throws 400 for an invalid name, which could be another object's key, and 404 for a name with an encoded slash, which 1.24
 * treats as a longer path.
 */
export function checkName(name: string): void {
  if (name.includes('/')) throw pathNotFound();
  const wrong = pathSegmentErrors(name);
  if (wrong.length > 0) throw badRequest(`Name parameter invalid: ${quoted(name)}: ${wrong.join(';')}`);
}

/** The key below the storage's prefix. Throws 400 as `checkName` does. */
export function keyOf(resource: ServedResource, namespace: string, name: string): string {
  checkName(name);
  return resource.declaration.namespaced ? `${namespace}/${name}` : name;
}

/** The scope below the storage's prefix that a collection request covers. */
export function scopeOf(resource: ServedResource, namespace: string): string {
  return resource.declaration.namespaced && namespace !== '' ? `${namespace}/` : '';
}

/** True for resources with something to see in each namespace; the namespaces themselves are among them. */
export function spansNamespaces({ declaration }: Pick<ServedResource, 'declaration'>): boolean {
  return declaration.namespaced || isNamespaces(declaration);
}

export function isNamespaces({ group, resource }: ResourceDeclaration): boolean {
  return group === 'core' && resource === 'namespaces';
}

/** The entry as an object of this version. Shared: do not modify. Remote conversions need `converted` first. */
export function objectOf(resource: ServedResource, entry: Entry): ApiObjectShape {
  return isServedAsStored(resource, entry)
    ? (entry.object() as ApiObjectShape)
    : allSteps(convertedObjectSteps(resource, entry));
}

/** `objectOf` in steps. */
export function* objectSteps(resource: ServedResource, entry: Entry, use?: 'deletion'): Steps<ApiObjectShape> {
  if (isServedAsStored(resource, entry)) return entry.object() as ApiObjectShape;
  return yield* convertedObjectSteps(resource, entry, use);
}

function* convertedObjectSteps(resource: ServedResource, entry: Entry, use?: 'deletion'): Steps<ApiObjectShape> {
  const { conversion, type } = resource;
  if (conversion?.kind === 'remote') {
    return withoutNulls(type, (yield* parseJSONSteps(jsonOf(resource, entry))) as ApiObjectShape);
  }
  const stored = entry instanceof TransientEntry ? yield* entry.objectSteps() : (entry.object() as ApiObjectShape);
  yield;
  return conversion === undefined ? stored : yield* conversion.fromStored(stored, use);
}

/** The entry as JSON of this version; remote conversions need `converted` first. */
export function jsonOf(resource: ServedResource, entry: Entry): Buffer {
  if (isServedAsStored(resource, entry)) return entry.json();
  const [name, make] = [jsonViewName(resource), (same: Entry) => convertedJson(resource, same)] as const;
  return resource.conversion?.views?.encoded(entry, name, make) ?? entry.encoded(name, make);
}

/** Like `jsonOf`, without joining the bytes in memory. */
export function jsonBytesOf(resource: ServedResource, entry: Entry): EntryBytes {
  if (isServedAsStored(resource, entry)) return entry.jsonBytes();
  const [name, make] = [jsonViewName(resource), (same: Entry) => convertedJson(resource, same)] as const;
  const { views } = resource.conversion ?? {};
  if (views === undefined || entry.keeps(name)) return entry.encodedBytes(name, make);
  return views.encoded(entry, name, make);
}

function isServedAsStored({ conversion }: ServedResource, entry: Entry): boolean {
  return conversion === undefined || isAsStored(conversion, entry);
}

/** True if the conversion would change nothing. */
function isAsStored(conversion: ServedConversion, entry: Entry): boolean {
  return conversion.isAsStored?.(entry) === true;
}

function convertedJson(resource: ServedResource, entry: Entry): Buffer {
  if (resource.conversion?.kind !== 'remote') return jsonBytes(resource, objectOf(resource, entry));
  throw new RangeError(`${entry.key} was not converted to ${resource.apiVersion} before it was used`);
}

/** Creating a request's signal costs as much as a small get, so it is read only if needed. */
interface Cancellable {
  readonly signal: AbortSignal;
}

/** Converts in this process in steps, unless the JSON is at hand. The caller must hold the result until it reads the JSON. */
export function* jsonSteps(resource: ServedResource, entry: Entry): Steps<LargeView | undefined> {
  const { conversion } = resource;
  if (conversion?.kind !== 'in process' || isAsStored(conversion, entry)) return undefined;
  const name = jsonViewName(resource);
  if (entry.keeps(name)) return undefined;
  const view = conversion.views?.find(entry, name);
  if (view !== undefined) return view;
  const object = yield* convertedObjectSteps(resource, entry);
  yield;
  return keepJson(resource, entry, jsonBytes(resource, object));
}

/** The JSON of an object that `objectSteps` has read from the entry. */
export function jsonOfObject(resource: ServedResource, entry: Entry, object: ApiObjectShape): Buffer {
  if (!isServedAsStored(resource, entry) && !hasJson(resource, entry))
    keepJson(resource, entry, jsonBytes(resource, object));
  return jsonOf(resource, entry);
}

function keepJson(resource: ServedResource, entry: Entry, bytes: Buffer): LargeView | undefined {
  const name = jsonViewName(resource);
  const { views } = resource.conversion ?? {};
  if (views !== undefined) return views.keep(entry, name, bytes);
  entry.encoded(name, () => bytes);
  return undefined;
}

/** True if the entry has its JSON of this version as long as it lives. */
export function entryKeepsJson(resource: ServedResource, entry: Entry): boolean {
  return isServedAsStored(resource, entry) || entry.keeps(jsonViewName(resource));
}

/** True if the entry's JSON of this version is at hand. */
function hasJson(resource: ServedResource, entry: Entry): boolean {
  const name = jsonViewName(resource);
  return entry.keeps(name) || resource.conversion?.views?.has(entry, name) === true;
}

/**
 * Converts the entries by webhook if this version needs it, and caches the results. The caller must hold the result until it
 * has read the JSON. Rejects if the conversion fails.
 */
export function converted(
  resource: ServedResource,
  entries: readonly Entry[],
  request: Cancellable,
): MaybePromise<readonly LargeView[] | undefined> {
  const { conversion } = resource;
  if (conversion?.kind !== 'remote') return undefined;
  return convertPending(resource, conversion, entries, request);
}

/** Entries with a large view at hand are held, too: other requests may displace it. */
function convertPending(
  resource: ServedResource,
  conversion: RemoteConversion,
  entries: readonly Entry[],
  request: Cancellable,
): MaybePromise<readonly LargeView[] | undefined> {
  const name = jsonViewName(resource);
  const held: LargeView[] = [];
  const pending: Entry[] = [];
  for (const entry of entries) {
    if (isAsStored(conversion, entry)) continue;
    const view = conversion.views?.find(entry, name);
    if (view !== undefined) held.push(view);
    else if (!hasJson(resource, entry)) pending.push(entry);
  }
  return pending.length === 0 ? held : convertAll(resource, conversion, { entries: pending, held, request });
}

interface Pending {
  readonly entries: readonly Entry[];
  readonly held: readonly LargeView[];
  readonly request: Cancellable;
}

async function convertAll(
  resource: ServedResource,
  conversion: RemoteConversion,
  { entries, held, request }: Pending,
): Promise<readonly LargeView[]> {
  const objects = await conversion.fromStored(
    entries.map((entry) => entry.object() as ApiObjectShape),
    request.signal,
  );
  const views = [...held];
  let total = 0;
  for (const [i, entry] of entries.entries()) {
    const object = objects[i];
    if (object === undefined) throw new RangeError(`conversion: ${objects.length} objects for ${entries.length}`);
    const bytes = jsonBytes(resource, object);
    const added = bytes.length - entry.size;
    conversion.requireBounded(added, total);
    const view = keepJson(resource, entry, bytes);
    if (view !== undefined) {
      views.push(view);
      // Entries keep small encodings anyway.
      total += added;
    }
    await conversion.pause();
  }
  return views;
}

function jsonBytes({ type }: ServedResource, object: ApiObjectShape): Buffer {
  return Buffer.from(toJSONText(withNulls(type, object)));
}

function jsonViewName({ apiVersion, edition }: ServedResource): string {
  return edition === undefined ? `json:${apiVersion}` : `json:${apiVersion} ${edition}`;
}

export interface FormOptions {
  readonly request: Cancellable;
  /** Called between the steps of a conversion. */
  readonly pause: Pause;
}

export function encodeForStorage(
  resource: ServedResource,
  object: ApiObjectShape,
  { request, pause }: FormOptions,
): MaybePromise<Buffer> {
  const { conversion, stored } = resource;
  const text = nullsOf(stored.type);
  const form = (storedObject: ApiObjectShape) => encodeStored(storedObject as StorableObject, text);
  if (conversion === undefined) return form(object);
  if (conversion.kind === 'in process') return andThen(inSteps(conversion.toStored(object), pause), form);
  return conversion.toStored(object, request.signal).then(form);
}

/** Marks an entry just written by this server as canonical. */
export function markCanonical(resource: ServedResource, entry: Entry): void {
  if (resource.conversion === undefined) entry.canonical = true;
}

/** The kind of a subresource; the resource's own for an empty name. Throws 404 for an unknown one. */
export function subresourceType(
  { dialect }: { readonly dialect: Dialect },
  resource: ServedResource,
  name: string,
): TypeRef {
  const { declaration, apiVersion } = resource;
  if (name === '') return { apiVersion, kind: declaration.kind };
  const subresource = declaration.subresources?.find((s) => s.name === name);
  if (subresource === undefined) throw pathNotFound();
  if (subresource.group === undefined) return { apiVersion, kind: subresource.kind };
  const version = subresource.version ?? declaration.version;
  return { apiVersion: dialect.apiVersion(subresource.group, version), kind: subresource.kind };
}
