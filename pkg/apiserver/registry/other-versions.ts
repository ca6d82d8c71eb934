/** The other versions of a resource, for who manages what in which of them. */
import type { ApiObjectShape } from '#api/meta/object.js';
import { strategyFor } from '#api/strategies.js';
import type { OtherVersions } from '#apimachinery/apply/conversions.js';
import type { JsonObject } from '#apimachinery/apply/structure.js';
import { copyJson } from '#apimachinery/collections/copy.js';
import { oncePer } from '#apimachinery/memo/once-per.js';
import type { ResourceInfo, Scheme } from '#apimachinery/schema/scheme.js';
import type { Codec } from '#apiserver/resources/codec.js';
import type { ServedResource } from '#apiserver/resources/served-resource.js';

/** By the stored form, the versions that are stored so: also those that are not served. */
const versionsByStored = oncePer((scheme: Scheme): ReadonlyMap<string, readonly ResourceInfo[]> => {
  const versions = new Map<string, ResourceInfo[]>();
  for (const info of scheme.resources) {
    const { group, version, storedAs, kind } = info.declaration;
    const stored = `${scheme.dialect.apiVersion(storedAs?.group ?? group, storedAs?.version ?? version)}/${kind}`;
    versions.set(stored, [...(versions.get(stored) ?? []), info]);
  }
  return versions;
});

/** Undefined for resources that have no other version. */
export function versionsOf(
  { stored, conversion, otherVersions, type }: ServedResource,
  { codec }: { readonly codec: Codec },
): OtherVersions | undefined {
  if (type.prune !== undefined) return otherVersions;
  const all = versionsByStored(codec.scheme).get(`${stored.apiVersion}/${stored.kind}`) ?? [];
  if (all.length < 2) return undefined;
  const typeOf = (version: string) => all.find((info) => info.apiVersion === version)?.type;
  if (conversion?.kind === 'remote') return { typeOf };
  const converted = (object: JsonObject, to: string): JsonObject => {
    const from = typeof object.apiVersion === 'string' ? object.apiVersion : stored.apiVersion;
    // What is merged or taken apart may lack parts that every object of its kind has.
    const { object: whole } = codec.normalize(copyJson(object), { apiVersion: from, kind: stored.kind }, 'Ignore');
    const hub = conversionOf(all, from)?.toStored(whole, codec.scheme) ?? whole;
    const result: ApiObjectShape = conversionOf(all, to)?.fromStored(hub, codec.scheme) ?? hub;
    // The stored form's own name may stand in it still.
    return { ...result, apiVersion: to };
  };
  return { typeOf, convert: (objects, to) => objects.map((object) => converted(object, to)) };
}

function conversionOf(all: readonly ResourceInfo[], apiVersion: string) {
  const info = all.find((one) => one.apiVersion === apiVersion);
  return info === undefined ? undefined : strategyFor(info.declaration).conversion;
}
