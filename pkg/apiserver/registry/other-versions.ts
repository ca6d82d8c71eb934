/** The other versions of a resource, for who manages what in which of them. */
import type { ApiObjectShape } from '#api/meta/object.js';
import { strategyFor } from '#api/strategies.js';
import type { OtherVersions } from '#apimachinery/apply/versions.js';
import { copyJson } from '#apimachinery/copy.js';
import { oncePer } from '#apimachinery/memo/once-per.js';
import type { ResourceInfo, Scheme } from '#apimachinery/schema/scheme.js';
import type { Codec } from '#apiserver/resources/codec.js';
import type { ServedResource } from '#apiserver/resources/served-resource.js';

type Members = Readonly<Record<string, unknown>>;

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

/**
 * Undefined for resources that have no other version. Those of remote conversions, too, are taken for one: what they
 * convert comes too late for what is decided between two steps.
 */
export function versionsOf(
  { stored, conversion, apiVersion, otherVersions, type }: ServedResource,
  { codec }: { readonly codec: Codec },
): OtherVersions | undefined {
  if (type.prune !== undefined) return otherVersions;
  const all = versionsByStored(codec.scheme).get(`${stored.apiVersion}/${stored.kind}`) ?? [];
  if (all.length < 2 || conversion?.kind === 'remote') return undefined;
  const convert = (object: Members, from: string, to: string): Members => {
    // What is merged or taken apart may lack parts that every object of its kind has.
    const { object: whole } = codec.normalize(copyJson(object), { apiVersion: from, kind: stored.kind }, 'Ignore');
    const hub = conversionOf(all, from)?.toStored(whole, codec.scheme) ?? whole;
    const result: ApiObjectShape = conversionOf(all, to)?.fromStored(hub, codec.scheme) ?? hub;
    return result as unknown as Members;
  };
  return {
    typeOf: (version) => all.find((info) => info.apiVersion === version)?.type,
    to: (version, object) => convert(object as Members, apiVersion, version),
    from: (version, object) => convert(object as Members, version, apiVersion),
  };
}

function conversionOf(all: readonly ResourceInfo[], apiVersion: string) {
  const info = all.find((one) => one.apiVersion === apiVersion);
  return info === undefined ? undefined : strategyFor(info.declaration).conversion;
}
