/** A served resource: its declaration and everything needed to answer requests for it. */
import type { ApiObjectShape } from '#api/meta/object.js';
import type { Strategy } from '#api/strategy/strategy.js';
import type { OtherVersions } from '#apimachinery/apply/conversions.js';
import { andThen, inSteps, type MaybePromise, type Pause, type Steps } from '#apimachinery/async/steps.js';
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
import type {
  InProcessConversion,
  RemoteConversion,
  ServedConversion,
  StoredVersionOf,
} from '#apiserver/resources/served-conversion.js';
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

/** The entry as an object of this version. Shared: do not modify. Remote conversions need `converted` first. */
export function objectOf(resource: ServedResource, entry: Entry): ApiObjectShape {
  const { conversion } = resource;
  if (conversion === undefined || isAsStored(conversion, entry)) return entry.object() as ApiObjectShape;
  if (conversion.kind === 'in process') return conversion.fromStored(entry.object() as ApiObjectShape);
  return withoutNulls(resource.type, parseJSONText(jsonOf(resource, entry).toString()) as ApiObjectShape);
}

/** The entry as JSON of this version; remote conversions need `converted` first. */
export function jsonOf(resource: ServedResource, entry: Entry): Buffer {
  return resource.conversion === undefined || isAsStored(resource.conversion, entry)
    ? entry.json()
    : entry.encoded(jsonViewName(resource), (same) => convertedJson(resource, same));
}

/** Like `jsonOf`, without joining the bytes in memory. */
export function jsonBytesOf(resource: ServedResource, entry: Entry): EntryBytes {
  return resource.conversion === undefined || isAsStored(resource.conversion, entry)
    ? entry.jsonBytes()
    : entry.encodedBytes(jsonViewName(resource), (same) => convertedJson(resource, same));
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

function* jsonSteps(resource: ServedResource, { fromStored }: InProcessConversion, entry: Entry): Steps<void> {
  const stored = entry instanceof TransientEntry ? yield* entry.objectSteps() : (entry.object() as ApiObjectShape);
  yield;
  const object = fromStored(stored);
  yield;
  entry.encoded(jsonViewName(resource), () => jsonBytes(resource, object));
}

/** Converts a large entry to this version's JSON in steps, and caches it. Undefined: nothing to convert in this process. */
export function convertedInSteps(resource: ServedResource, entry: Entry, pause: Pause): MaybePromise<void> {
  const { conversion } = resource;
  if (conversion?.kind !== 'in process' || isAsStored(conversion, entry) || entry.keeps(jsonViewName(resource))) {
    return undefined;
  }
  return inSteps(jsonSteps(resource, conversion, entry), pause);
}

/** Converts the entries by webhook if this version needs it, and caches the results. Rejects if the conversion fails. */
export function converted(
  resource: ServedResource,
  entries: readonly Entry[],
  request: Cancellable,
): MaybePromise<undefined> {
  const { conversion } = resource;
  if (conversion?.kind !== 'remote') return undefined;
  const view = jsonViewName(resource);
  const pending = entries.filter((entry) => !isAsStored(conversion, entry) && !entry.keeps(view));
  if (pending.length === 0) return undefined;
  return convertAll(resource, conversion, pending, request.signal);
}

async function convertAll(
  resource: ServedResource,
  conversion: RemoteConversion,
  entries: readonly Entry[],
  signal: AbortSignal,
): Promise<undefined> {
  const view = jsonViewName(resource);
  const objects = await conversion.fromStored(
    entries.map((entry) => entry.object() as ApiObjectShape),
    signal,
  );
  entries.forEach((entry, i) => {
    const object = objects[i];
    if (object === undefined) throw new RangeError(`conversion: ${objects.length} objects for ${entries.length}`);
    entry.encoded(view, () => jsonBytes(resource, object));
  });
  return undefined;
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
