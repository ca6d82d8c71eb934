/** A resource as the server has it: its declaration with everything that answers requests for it. */
import type { ApiObjectShape } from '#api/meta/object.js';
import type { Strategy } from '#api/strategy/strategy.js';
import type { OtherVersions } from '#apimachinery/apply/conversions.js';
import { andThen, inSteps, type MaybePromise, type Pause, type Steps } from '#apimachinery/async/steps.js';
import type { Cancellation } from '#apimachinery/cancellation.js';
import { nullsOf, withNulls, withoutNulls } from '#apimachinery/codec/json/empty-members.js';
import { parseJSONSteps, parseJSONText } from '#apimachinery/codec/json/text.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { quoted } from '#apimachinery/errors/shown.js';
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

/** An object that is answered but not stored: the result of a dry run, or the last state of one just removed. */
export class TransientEntry implements Entry {
  readonly key: string;
  readonly revision: Revision;
  readonly stored: Buffer;
  readonly #encoded = new Map<string, Buffer>();
  readonly #type: TypeInfo | undefined;

  /** Revision 0: the object has no version. `type`: that of the stored object, where it may have lists that are null. */
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

  /** The same in steps. */
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
  /** `v1`, `apps/v1`. */
  readonly apiVersion: string;
  readonly qualified: Qualified;
  readonly strategy: Strategy;
  readonly storage: ResourceStorage;
  /** Of the objects as this version serves them. */
  readonly type: TypeInfo;
  /** The form that is stored, which selectors look at. */
  readonly stored: StoredVersionOf;
  /** Absent where the stored form is the served one. */
  readonly conversion?: ServedConversion;
  /** Objects of this resource go away by themselves after so long. */
  readonly ttlSeconds?: number;
  /** The kind of lists, where it is not the kind with `List`. */
  readonly listKind?: string;
  /** The other versions of a custom kind, for who manages what in which of them; absent: there are none. */
  readonly otherVersions?: OtherVersions | undefined;
  /** What clients are told who use this version of a custom kind. */
  readonly deprecationWarning?: string | undefined;
  /** Its definition is going: there may be no new objects. */
  readonly isTerminating?: boolean;
  /** Tells apart what is kept of entries under the definitions that a custom kind has had. */
  readonly edition?: string;
  /** Of a custom kind: aborts when another state of its definition takes its place; watches end then, as in 1.24. */
  readonly retired?: Cancellation;
  /** Of a custom kind: with a type that is made for who asks, and goes with him. Throws 404 when the version is gone. */
  described?(): DescribedResource;
}

/** What documents tell of a resource. */
export type DescribedResource = Pick<ServedResource, 'declaration' | 'group' | 'apiVersion' | 'listKind' | 'type'>;

/**
 * Throws 400 for what is no name of an object, and would be the key of something else; 404 for one with an encoded slash,
 * which 1.24 takes for a longer path.
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

/** The entry as this version's object; shared, not to be modified. Of a remote conversion: only once `converted`. */
export function objectOf(resource: ServedResource, entry: Entry): ApiObjectShape {
  const { conversion } = resource;
  if (conversion === undefined || isAsStored(conversion, entry)) return entry.object() as ApiObjectShape;
  if (conversion.kind === 'in process') return conversion.fromStored(entry.object() as ApiObjectShape);
  return withoutNulls(resource.type, parseJSONText(jsonOf(resource, entry).toString()) as ApiObjectShape);
}

/** The entry as this version's JSON. The same holds. */
export function jsonOf(resource: ServedResource, entry: Entry): Buffer {
  return resource.conversion === undefined || isAsStored(resource.conversion, entry)
    ? entry.json()
    : entry.encoded(viewOf(resource), (same) => convertedJson(resource, same));
}

/** The same, as it is in memory. */
export function jsonBytesOf(resource: ServedResource, entry: Entry): EntryBytes {
  return resource.conversion === undefined || isAsStored(resource.conversion, entry)
    ? entry.jsonBytes()
    : entry.encodedBytes(viewOf(resource), (same) => convertedJson(resource, same));
}

/** Whether the conversion would change nothing. */
function isAsStored(conversion: ServedConversion, entry: Entry): boolean {
  return conversion.isAsStored?.(entry) === true;
}

function convertedJson(resource: ServedResource, entry: Entry): Buffer {
  if (resource.conversion?.kind !== 'remote') return jsonBytes(resource, objectOf(resource, entry));
  throw new RangeError(`${entry.key} was not converted to ${resource.apiVersion} before it was used`);
}

/** A request's signal costs as much as a small get, so only who needs it asks for it. */
interface Cancellable {
  readonly signal: AbortSignal;
}

/** The same in steps, where this process converts. */
function* jsonSteps(resource: ServedResource, { fromStored }: InProcessConversion, entry: Entry): Steps<void> {
  const stored = entry instanceof TransientEntry ? yield* entry.objectSteps() : (entry.object() as ApiObjectShape);
  yield;
  const object = fromStored(stored);
  yield;
  entry.encoded(viewOf(resource), () => jsonBytes(resource, object));
}

/** Has a large entry converted to this version's JSON, which it keeps. Undefined: there is nothing to convert here. */
export function convertedInSteps(resource: ServedResource, entry: Entry, pause: Pause): MaybePromise<void> {
  const { conversion } = resource;
  if (conversion?.kind !== 'in process' || isAsStored(conversion, entry) || entry.keeps(viewOf(resource))) {
    return undefined;
  }
  return inSteps(jsonSteps(resource, conversion, entry), pause);
}

/** Has the entries converted to this version, where that takes a while; they keep what came out. Rejects where it fails. */
export function converted(
  resource: ServedResource,
  entries: readonly Entry[],
  request: Cancellable,
): MaybePromise<undefined> {
  const { conversion } = resource;
  if (conversion?.kind !== 'remote') return undefined;
  const view = viewOf(resource);
  const missing = entries.filter((entry) => !isAsStored(conversion, entry) && !entry.keeps(view));
  if (missing.length === 0) return undefined;
  return convertAll(resource, conversion, missing, request.signal);
}

async function convertAll(
  resource: ServedResource,
  conversion: RemoteConversion,
  entries: readonly Entry[],
  signal: AbortSignal,
): Promise<undefined> {
  const view = viewOf(resource);
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

function viewOf({ apiVersion, edition }: ServedResource): string {
  return edition === undefined ? `json:${apiVersion}` : `json:${apiVersion} ${edition}`;
}

export interface FormOptions {
  readonly request: Cancellable;
  /** Comes between the steps of a conversion. */
  readonly pause: Pause;
}

/** The bytes to store. */
export function formOf(
  resource: ServedResource,
  object: ApiObjectShape,
  { request, pause }: FormOptions,
): MaybePromise<Buffer> {
  const { conversion, stored } = resource;
  const text = nullsOf(stored.type);
  const form = (wanted: ApiObjectShape) => encodeStored(wanted as StorableObject, text);
  if (conversion === undefined) return form(object);
  if (conversion.kind === 'in process') return andThen(inSteps(conversion.toStored(object), pause), form);
  return conversion.toStored(object, request.signal).then(form);
}

/** Remembers of what was just written that it is canonical. */
export function markCanonical(resource: ServedResource, entry: Entry): void {
  if (resource.conversion === undefined) entry.canonical = true;
}

/** The kind that a subresource speaks; the resource's own for an empty name. Throws 404 for one that does not exist. */
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
