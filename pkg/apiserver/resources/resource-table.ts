/** The resources that are served, found by their place in the URL. May change while serving: kinds come and go. */
import type { KindInfo } from '#apimachinery/schema/scheme.js';
import type { ServedResource } from '#apiserver/resources/served-resource.js';

/** A version of a resource that is not built in. */
export interface CustomResource extends ServedResource {
  readonly kindInfo: KindInfo;
}

export class ResourceTable {
  /** Kinds that are not built in, by `group/version` and name. */
  readonly #customKinds = new Map<string, Map<string, KindInfo>>();
  /** `group/version` → resource name → resource. */
  readonly #byGroupVersion = new Map<string, Map<string, ServedResource>>();
  #generation = 0;

  /** Grows with each change; what is derived from the table can be kept until then. */
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

  /** Serves other versions of a custom resource from now on, with their kinds; both may be empty. */
  replace(old: readonly CustomResource[], wanted: readonly CustomResource[]): void {
    for (const resource of old) {
      this.remove(resource);
      const { apiVersion, declaration } = resource;
      const kinds = this.#customKinds.get(apiVersion);
      if (kinds?.get(declaration.kind) === resource.kindInfo) kinds?.delete(declaration.kind);
      if (kinds?.size === 0) this.#customKinds.delete(apiVersion);
    }
    for (const resource of wanted) {
      this.add(resource);
      const { apiVersion, declaration } = resource;
      const kinds = this.#customKinds.get(apiVersion) ?? new Map<string, KindInfo>();
      this.#customKinds.set(apiVersion, kinds.set(declaration.kind, resource.kindInfo));
    }
  }

  /** The custom kind that an object with that `apiVersion` and `kind` is of. */
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

  /** The resources of a version, in the order in which they were added. */
  of(group: string, version: string): Iterable<ServedResource> {
    return this.#byGroupVersion.get(`${group}/${version}`)?.values() ?? [];
  }

  /** True for a resource, and for a subresource that it has. */
  serves(group: string, version: string, resource: string, subresource: string): boolean {
    const found = this.find(group, version, resource);
    if (found === undefined) return false;
    return subresource === '' || (found.declaration.subresources ?? []).some(({ name }) => name === subresource);
  }

  /** All resources, in the order in which they were added. */
  all(): ServedResource[] {
    return [...this.#byGroupVersion.values()].flatMap((resources) => [...resources.values()]);
  }
}
