/**
 * Custom objects out of the store and into it. What is read gets what the schema of its own version says by now: what that
 * does not know goes, and defaults come. Source: 1.24, staging/src/k8s.io/apiextensions-apiserver/pkg/apiserver/
 * {customresource_handler.go,conversion/nop_converter.go}.
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

/** Knows of entries whether they are as they would be written now. */
export class StoredForms {
  readonly #kind: CustomKind;
  /** Of which version they are; empty where something is to be changed in them. */
  readonly #current = new WeakMap<Entry, string>();

  constructor(kind: CustomKind) {
    this.#kind = kind;
  }

  /** True for an entry of that version in which nothing is to be changed. Looked at once: lists ask for all that they have. */
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

  /** The object as its own version has it by now, sharing nothing that might be changed. */
  settled(object: ApiObjectShape): ApiObjectShape {
    const version = this.versionOf(object);
    if (version === undefined) return object;
    const { schema, metadataType } = version;
    const own = copyJson(object);
    own.metadata = readMetadata(own.metadata, metadataType);
    pruneObject(own, schema);
    fillCustomDefaults(own, schema);
    coerceResources(own, schema, { type: metadataType, dropInvalid: true });
    return own;
  }

  /** Undefined for objects of versions that the definition has no more: they are taken as they are. */
  versionOf({ apiVersion = '' }: ApiObjectShape): CustomVersion | undefined {
    return this.#kind.version(parseGroupVersion(apiVersion).version);
  }
}

/** All versions look the same but for their name. */
export function renaming(kind: CustomKind, forms: StoredForms, apiVersion: string): InProcessConversion {
  const storedVersion = kind.apiVersion(kind.storageVersion);
  return {
    kind: 'in process',
    isAsStored: (entry) => forms.isCurrent(entry, apiVersion),
    fromStored: (stored) => ({ ...forms.settled(stored), apiVersion, kind: kind.kind }),
    *toStored(object) {
      const own = yield* copyJsonSteps(object);
      return { ...own, apiVersion: storedVersion };
    },
  };
}

/** For who manages what in which version. Undefined where there is one version only. `renamed`: all look the same. */
export function versionsOfKind(kind: CustomKind, renamed: boolean): OtherVersions | undefined {
  if (kind.versionNames.length < 2) return undefined;
  // Clients may write managers of any group.
  const typeOf = (apiVersion: string) => {
    const { group, version } = parseGroupVersion(apiVersion);
    return group === kind.group ? kind.version(version)?.type : undefined;
  };
  if (!renamed) return { typeOf };
  return { typeOf, convert: (objects, apiVersion) => objects.map((object) => ({ ...object, apiVersion })) };
}
