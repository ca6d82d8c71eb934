/**
 * Conversion of custom objects between store and request. An object that is read gets the shape of its version's current
 * schema: unknown fields are pruned, and defaults are set. Source: 1.24,
 * staging/src/k8s.io/apiextensions-apiserver/pkg/apiserver/{customresource_handler.go,conversion/nop_converter.go}.
 */
import { fillCustomDefaults, lacksDefaults } from '#api/apiextensions/v1/customresource/defaulting.js';
import { pruneObject, wouldPrune } from '#api/apiextensions/v1/customresource/pruning.js';
import {
  coerceResources,
  readMetadata,
  wouldCoerceResources,
} from '#api/apiextensions/v1/customresource/resource-metadata.js';
import type { ApiObjectShape } from '#api/meta/object.js';
import type { OtherVersions } from '#apimachinery/apply/conversions.js';
import { copyJson, copyJsonSteps } from '#apimachinery/collections/copy.js';
import { parseGroupVersion } from '#apimachinery/group-version.js';
import type { CustomKind, CustomVersion } from '#apiserver/customresources/custom-kind.js';
import type { InProcessConversion } from '#apiserver/resources/served-conversion.js';
import type { Entry } from '#storage/resource-storage.js';

/** Remembers which entries are stored in their current form. */
export class StoredForms {
  readonly #kind: CustomKind;
  /** The entry's version; empty if its object needs changes. */
  readonly #current = new WeakMap<Entry, string>();

  constructor(kind: CustomKind) {
    this.#kind = kind;
  }

  /** True if the entry has that version and needs no changes. Checked once per entry, because every list needs it. */
  isCurrent(entry: Entry, apiVersion: string): boolean {
    let version = this.#current.get(entry);
    if (version === undefined) {
      version = this.#currentVersion(entry.object() as ApiObjectShape);
      this.#current.set(entry, version);
    }
    return version === apiVersion;
  }

  #currentVersion(object: ApiObjectShape): string {
    const version = this.versionOf(object);
    if (version === undefined) return object.apiVersion ?? '';
    const { schema, apiVersion, metadataType } = version;
    const isChanged =
      readMetadata(object.metadata, metadataType) !== object.metadata ||
      wouldPrune(object, schema) ||
      wouldCoerceResources(object, schema, metadataType) ||
      lacksDefaults(object, schema);
    return isChanged ? '' : apiVersion;
  }

  /** The object as its version's schema shapes it now, sharing nothing mutable. */
  normalized(object: ApiObjectShape): ApiObjectShape {
    const version = this.versionOf(object);
    if (version === undefined) return object;
    const { schema, metadataType } = version;
    const copy = copyJson(object);
    copy.metadata = readMetadata(copy.metadata, metadataType);
    pruneObject(copy, schema);
    fillCustomDefaults(copy, schema);
    coerceResources(copy, schema, { type: metadataType, dropInvalid: true });
    return copy;
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
    isAsStored: (entry) => forms.isCurrent(entry, apiVersion),
    fromStored: (stored) => ({ ...forms.normalized(stored), apiVersion, kind: kind.kind }),
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
