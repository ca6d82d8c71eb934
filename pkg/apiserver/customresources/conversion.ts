/**
 * Conversion of custom objects between store and request. An object that is read gets the shape of its version's current
 * schema: unknown fields are pruned, and defaults are set, up to a bound that 1.24 lacks. Source: 1.24,
 * staging/src/k8s.io/apiextensions-apiserver/pkg/apiserver/{customresource_handler.go,conversion/nop_converter.go}.
 */
import {
  customDefaultSteps,
  DefaultsTooLarge,
  maxDefaultBytes,
  missingDefaults,
} from '#api/apiextensions/v1/customresource/defaulting.js';
import { pruneObject, wouldPrune } from '#api/apiextensions/v1/customresource/pruning.js';
import {
  coerceResources,
  readMetadata,
  wouldCoerceResources,
} from '#api/apiextensions/v1/customresource/resource-metadata.js';
import type { ApiObjectShape } from '#api/meta/object.js';
import type { OtherVersions } from '#apimachinery/apply/conversions.js';
import type { Steps } from '#apimachinery/async/steps.js';
import { copyJsonSteps } from '#apimachinery/collections/copy.js';
import type { StatusError } from '#apimachinery/errors/status.js';
import { parseGroupVersion } from '#apimachinery/group-version.js';
import type { CustomKind, CustomVersion } from '#apiserver/customresources/custom-kind.js';
import type { LargeViews } from '#apiserver/resources/large-views.js';
import type { InProcessConversion } from '#apiserver/resources/served-conversion.js';
import type { Entry } from '#storage/resource-storage.js';

/** How an entry differs from its current form. */
interface StoredForm {
  /** The entry's version; empty if its object needs changes. */
  readonly current: string;
  /** Bytes that defaults would add. */
  readonly addedBytes: number;
}

/** Remembers which entries are stored in their current form. */
export class StoredForms {
  readonly views: LargeViews;
  readonly #kind: CustomKind;
  readonly #forms = new WeakMap<Entry, StoredForm>();

  constructor(kind: CustomKind, views: LargeViews) {
    this.#kind = kind;
    this.views = views;
  }

  /** True if the entry has that version and needs no changes. Checked once per entry, because every list needs it. */
  isCurrent(entry: Entry, apiVersion: string): boolean {
    return this.#of(entry).current === apiVersion;
  }

  /** Throws 500 for an entry to which defaults add too much. */
  requireBounded(entry: Entry): void {
    if (this.#of(entry).addedBytes > maxDefaultBytes) throw this.#exceeded(entry.object() as ApiObjectShape);
  }

  #of(entry: Entry): StoredForm {
    let form = this.#forms.get(entry);
    if (form === undefined) {
      form = this.#measured(entry.object() as ApiObjectShape);
      this.#forms.set(entry, form);
    }
    return form;
  }

  #measured(object: ApiObjectShape): StoredForm {
    const version = this.versionOf(object);
    if (version === undefined) return { current: object.apiVersion ?? '', addedBytes: 0 };
    const { schema, apiVersion, metadataType } = version;
    const missing = missingDefaults(object, schema);
    const isChanged =
      missing.any ||
      readMetadata(object.metadata, metadataType) !== object.metadata ||
      wouldPrune(object, schema) ||
      wouldCoerceResources(object, schema, metadataType);
    return { current: isChanged ? '' : apiVersion, addedBytes: missing.bytes };
  }

  /**
   * The object as its version's schema shapes it now, sharing nothing mutable. Throws 500 if defaults add too much; for a
   * deletion the object stays without them.
   */
  *normalized(object: ApiObjectShape, use?: 'deletion'): Steps<ApiObjectShape> {
    const version = this.versionOf(object);
    if (version === undefined) return object;
    const { schema, metadataType } = version;
    const copy = yield* copyJsonSteps(object);
    yield;
    copy.metadata = readMetadata(copy.metadata, metadataType);
    pruneObject(copy, schema);
    yield;
    if (use === undefined || missingDefaults(copy, schema).bytes <= maxDefaultBytes) {
      try {
        yield* customDefaultSteps(copy, schema);
      } catch (error) {
        throw error instanceof DefaultsTooLarge ? this.#exceeded(object) : error;
      }
    }
    yield;
    coerceResources(copy, schema, { type: metadataType, dropInvalid: true });
    return copy;
  }

  /** The metadata of `normalized`. */
  normalizedMetadata(object: ApiObjectShape): ApiObjectShape['metadata'] {
    const version = this.versionOf(object);
    return version === undefined ? object.metadata : readMetadata(object.metadata, version.metadataType);
  }

  #exceeded({ apiVersion = '' }: ApiObjectShape): StatusError {
    return this.#kind.exceeded(parseGroupVersion(apiVersion).version, 'defaults');
  }

  /** Undefined for versions that the definition no longer has: objects of those stay as they are. */
  versionOf({ apiVersion = '' }: ApiObjectShape): CustomVersion | undefined {
    return this.#kind.version(parseGroupVersion(apiVersion).version);
  }
}

/** The conversion of kinds whose versions differ only in their name. */
export function renamingConversion(kind: CustomKind, forms: StoredForms, apiVersion: string): InProcessConversion {
  const storedVersion = kind.apiVersion(kind.storageVersion);
  return {
    kind: 'in process',
    views: forms.views,
    isAsStored: (entry) => forms.isCurrent(entry, apiVersion),
    *fromStored(stored, use) {
      return { ...(yield* forms.normalized(stored, use)), apiVersion, kind: kind.kind };
    },
    metadataOf: (stored) => forms.normalizedMetadata(stored),
    requireBounded: (entry) => forms.requireBounded(entry),
    *toStored(object) {
      const copy = yield* copyJsonSteps(object);
      return { ...copy, apiVersion: storedVersion };
    },
  };
}

/** The versions of a kind, for field ownership; undefined if it has one. `renamed`: they differ only in their name. */
export function versionsOfKind(kind: CustomKind, renamed: boolean): OtherVersions | undefined {
  if (kind.versionNames.length < 2) return undefined;
  // Clients may write managers with versions of any group.
  const typeOf = (apiVersion: string) => {
    const { group, version } = parseGroupVersion(apiVersion);
    return group === kind.group ? kind.version(version)?.type : undefined;
  };
  if (!renamed) return { typeOf };
  return { typeOf, convert: (objects, apiVersion) => objects.map((object) => ({ ...object, apiVersion })) };
}
