import type { Dialect } from '#apimachinery/dialect.js';
import { pathNotFound } from '#apimachinery/errors/status.js';
import type { TypeRef } from '#apiserver/resources/codec.js';
import type { ServedResource } from '#apiserver/resources/served-resource.js';

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
