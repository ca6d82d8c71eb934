/** Names of definitions and of extensions. */
import { type Dialect, kubernetesDialect } from '#apimachinery/dialect.js';
import type { TypeInfo } from '#apimachinery/schema/type-info.js';

/** Groups whose types are named after the servers that introduced them. */
const serverPackages: Readonly<Record<string, string>> = {
  apiextensions: 'apiextensions-apiserver',
  apiregistration: 'kube-aggregator',
};

/** `io.k8s.api.apps.v1.Deployment`; types shared by all groups have other prefixes, which clients know. */
export function definitionName(type: Pick<TypeInfo, 'name' | 'shortName' | 'prune'>, dialect: Dialect): string {
  const root = dialect.apiDomain.split('.').reverse().join('.');
  // Groups of custom kinds are domain names.
  if (type.prune !== undefined) return customName(type.name, type.shortName);
  const [group = '', ...rest] = type.name.split('.');
  const tail = rest.filter((part) => part !== '').join('.');
  if (group === 'meta') return `${root}.apimachinery.pkg.apis.meta.${tail}`;
  if (group === 'resource') return `${root}.apimachinery.pkg.api.resource.${tail}`;
  if (group === 'runtime') return `${root}.apimachinery.pkg.runtime.${tail}`;
  if (group === 'intstr') return `${root}.apimachinery.pkg.util.intstr.${tail}`;
  const home = serverPackages[group];
  return home === undefined ? `${root}.api.${group}.${tail}` : `${root}.${home}.pkg.apis.${group}.${tail}`;
}

/** `com.example.stable.v1.CronTab`. */
function customName(name: string, kind: string): string {
  const parts = name.slice(0, -kind.length - 1).split('.');
  const version = parts.pop() ?? '';
  return [...parts.reverse(), version, kind].join('.');
}

/** Sets an extension under the dialect's prefix, and under the one that existing clients expect. */
export function extend(target: Record<`x-${string}`, unknown>, dialect: Dialect, name: string, value: unknown): void {
  for (const prefix of new Set([dialect.extensionPrefix, kubernetesDialect.extensionPrefix])) {
    target[`${prefix}${name}` as `x-${string}`] = value;
  }
}
