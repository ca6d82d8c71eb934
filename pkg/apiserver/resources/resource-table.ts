/** The served resources by their place in the URL. The table changes at run time as custom kinds come and go. */
import type { KindInfo } from '#apimachinery/schema/scheme.js';
import type { ServedResource } from '#apiserver/resources/served-resource.js';

/** A version of a custom resource. */
export interface CustomResource extends ServedResource {
  readonly kindInfo: KindInfo;
}

export class ResourceTable {
  /** Custom kinds, by `group/version` and name. */
  readonly #customKinds = new Map<string, Map<string, KindInfo>>();
  /** `group/version` → resource name → resource. */
  readonly #byGroupVersion = new Map<string, Map<string, ServedResource>>();
  #generation = 0;

  /** Increases with each change, for caches of derived data. */
  get generation(): number {
    return this.#generation;
  }

  add(resource: ServedResource): void {
    const { version } = resource.declaration;
    const key = `${resource.group}/${version}`;
    let resources = this.#byGroupVersion.get(key);
    if (resources === undefined) {
      resources = new Map();
      this.#byGroupVersion.set(key, resources);
    }
    resources.set(resource.declaration.resource, resource);
    this.#generation += 1;
  }

  /** Replaces versions of a custom resource and their kinds; both lists may be empty. */
  replace(old: readonly CustomResource[], added: readonly CustomResource[]): void {
    for (const resource of old) {
      this.remove(resource);
      const { apiVersion, declaration } = resource;
      const kinds = this.#customKinds.get(apiVersion);
      if (kinds?.get(declaration.kind) === resource.kindInfo) kinds?.delete(declaration.kind);
      if (kinds?.size === 0) this.#customKinds.delete(apiVersion);
    }
    for (const resource of added) {
      this.add(resource);
      const { apiVersion, declaration } = resource;
      const kinds = this.#customKinds.get(apiVersion) ?? new Map<string, KindInfo>();
      this.#customKinds.set(apiVersion, kinds.set(declaration.kind, resource.kindInfo));
    }
  }

  /** The custom kind with that `apiVersion` and `kind`. */
  kind(apiVersion: string, kind: string): KindInfo | undefined {
    return this.#customKinds.get(apiVersion)?.get(kind);
  }

  remove(resource: ServedResource): void {
    const key = `${resource.group}/${resource.declaration.version}`;
    const resources = this.#byGroupVersion.get(key);
    if (resources?.get(resource.declaration.resource) !== resource) return;
    resources.delete(resource.declaration.resource);
    if (resources.size === 0) this.#byGroupVersion.delete(key);
    this.#generation += 1;
  }

  find(group: string, version: string, resource: string): ServedResource | undefined {
    return this.#byGroupVersion.get(`${group}/${version}`)?.get(resource);
  }

  /** The resources of a version, in the order of their addition. */
  of(group: string, version: string): Iterable<ServedResource> {
    return this.#byGroupVersion.get(`${group}/${version}`)?.values() ?? [];
  }

  /** True for a resource, and for its subresources. */
  serves(group: string, version: string, resource: string, subresource: string): boolean {
    const entry = this.find(group, version, resource);
    if (entry === undefined) return false;
    return subresource === '' || (entry.declaration.subresources ?? []).some(({ name }) => name === subresource);
  }

  /** All resources, in the order of their addition. */
  all(): ServedResource[] {
    return [...this.#byGroupVersion.values()].flatMap((resources) => [...resources.values()]);
  }
}
