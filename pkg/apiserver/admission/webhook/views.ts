/** A request's objects as webhooks see them: in the subresource's kind and the version that the webhook supports. */
import type { ApiObjectShape } from '#api/meta/object.js';
import type { Steps } from '#apimachinery/async/steps.js';
import { copyJson } from '#apimachinery/collections/copy.js';
import type { AdmissionAttributes, AdmissionScope } from '#apiserver/admission/admission.js';
import { jsonText } from '#apiserver/admission/webhook/review.js';
import type { TypeRef } from '#apiserver/resources/codec.js';
import { scaleOf } from '#apiserver/resources/scale-of.js';
import { type ServedResource, subresourceType } from '#apiserver/resources/served-resource.js';

export interface View {
  readonly kind: TypeRef;
  /** JSON texts; `null` for none. */
  readonly object: string;
  readonly oldObject: string;
}

/** Caches views: webhooks of the same version share one until the object changes. */
export class Views {
  readonly #attributes: AdmissionAttributes;
  readonly #scope: AdmissionScope;
  /** True if the object has no system fields yet: 1.24 sets them after mutating webhooks. */
  readonly #isNew: boolean;
  readonly #views = new Map<ServedResource, View>();
  readonly #old = new Map<ServedResource, string>();

  constructor(attributes: AdmissionAttributes, scope: AdmissionScope, { mutating }: { readonly mutating: boolean }) {
    this.#attributes = attributes;
    this.#scope = scope;
    this.#isNew = mutating && attributes.operation === 'CREATE';
  }

  /** Rejects if an object cannot be converted. */
  async in(resource: ServedResource): Promise<View> {
    const cached = this.#views.get(resource);
    if (cached !== undefined) return cached;
    const kind = this.kindIn(resource);
    const { object, oldObject } = this.#attributes;
    let old = this.#old.get(resource);
    if (old === undefined) {
      old = await this.#text(oldObject, resource, kind);
      this.#old.set(resource, old);
    }
    const view = { kind, object: await this.#text(object, resource, kind), oldObject: old };
    this.#views.set(resource, view);
    return view;
  }

  kindIn(resource: ServedResource): TypeRef {
    const { dialect } = this.#scope.registry;
    return subresourceType({ dialect }, resource, this.#attributes.subresource);
  }

  /** Drops all views because the object has changed. */
  forget(): void {
    this.#views.clear();
  }

  async #text(object: ApiObjectShape | undefined, resource: ServedResource, kind: TypeRef): Promise<string> {
    if (object === undefined) return 'null';
    const { registry, resource: own, context } = this.#scope;
    const shown = (each: object) => registry.codec.shown(each);
    if (isWholeOf(own, object) && kind.kind !== own.declaration.kind)
      return jsonText(shown, scaleOf(own, object, kind));
    const converts = resource !== own && isWholeOf(own, object);
    const whole = converts ? await convertedTo(resource, object, own, context.signal) : object;
    return jsonText(shown, this.#isNew && isWholeOf(resource, whole) ? withoutSystemFields(whole) : whole);
  }
}

function withoutSystemFields(object: ApiObjectShape): ApiObjectShape {
  const { uid: _, ...metadata } = object.metadata;
  return { ...object, metadata: { ...metadata, creationTimestamp: null } as unknown as ApiObjectShape['metadata'] };
}

/** False for subresource kinds: evictions, bindings, connection options. */
export function isWholeOf({ declaration, apiVersion }: ServedResource, object: ApiObjectShape): boolean {
  return object.kind === declaration.kind && object.apiVersion === apiVersion;
}

/**
 * Converts an object between two versions of a resource by way of the stored form. The result shares nothing with `object`.
 * Rejects if a conversion webhook fails.
 */
export async function convertedTo(
  target: ServedResource,
  object: ApiObjectShape,
  from: ServedResource,
  signal: AbortSignal,
): Promise<ApiObjectShape> {
  const copy = copyJson(object);
  if (target === from) return copy;
  return fromStored(target, await toStored(from, copy, signal), signal);
}

async function toStored({ conversion }: ServedResource, object: ApiObjectShape, signal: AbortSignal) {
  if (conversion === undefined) return object;
  return conversion.kind === 'remote' ? conversion.toStored(object, signal) : runAll(conversion.toStored(object));
}

async function fromStored({ conversion }: ServedResource, stored: ApiObjectShape, signal: AbortSignal) {
  if (conversion === undefined) return stored;
  if (conversion.kind === 'in process') return copyJson(runAll(conversion.fromStored(stored)));
  const [converted] = await conversion.fromStored([stored], signal);
  if (converted === undefined) throw new RangeError('a conversion lost its object');
  return converted;
}

function runAll<T>(steps: Steps<T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}
