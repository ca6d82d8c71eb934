/** References by name follow the objects whose names have changed. Pure. */
import { isJsonObject, type JsonObject } from '#apimachinery/codec/json/walk.js';
import { visitField } from '#cmd/orchctl/kustomize/field-path.js';
import {
  currentIdentity,
  effectiveNamespace,
  type Gvk,
  identityText,
  isClusterScoped,
  isSelected,
  originalIdentity,
  type Resource,
} from '#cmd/orchctl/kustomize/identity.js';
import type { ResourceList } from '#cmd/orchctl/kustomize/resource-list.js';
import type { NameReference } from '#cmd/orchctl/kustomize/specs.js';
import { CommandError } from '#cmd/orchctl/terminal/errors.js';

export function followNames(list: ResourceList, references: readonly NameReference[]): void {
  for (const referrer of list.all) {
    const candidates = list.candidatesFor(referrer);
    const original = originalIdentity(referrer);
    for (const target of references) {
      for (const spec of target.fieldSpecs) {
        if (!isSelected(original, spec)) continue;
        const update = new Update({ referrer, target, path: spec.path, candidates });
        visitField(referrer.object, spec.path, { visit: (holder, key) => update.place(holder, key) });
      }
    }
  }
}

interface UpdateOptions {
  readonly referrer: Resource;
  readonly target: Partial<Gvk>;
  readonly path: string;
  readonly candidates: readonly Resource[];
}

class Update {
  readonly #options: UpdateOptions;

  constructor(options: UpdateOptions) {
    this.#options = options;
  }

  place(holder: JsonObject | unknown[], key: string | number): void {
    const value: unknown = (holder as JsonObject)[key];
    if (typeof value === 'string') this.#text(holder, key, value);
    else if (Array.isArray(value)) {
      for (const index of value.keys()) this.place(value, index);
    } else if (isJsonObject(value)) this.#map(value);
  }

  #text(holder: JsonObject | unknown[], key: string | number, name: string): void {
    const referral = this.#referral(name, this.#options.candidates);
    if (referral !== undefined) Object.assign(holder, { [key]: currentIdentity(referral).name });
  }

  /** A map that has the name, and perhaps the namespace, such as a subject of a role binding. */
  #map(map: JsonObject): void {
    const { name, namespace } = map;
    if (typeof name !== 'string') throw new CommandError("path config error; no 'name' field in node");
    const { candidates } = this.#options;
    const inNamespace = (identity: (resource: Resource) => ReturnType<typeof currentIdentity>) =>
      candidates.filter((each) => effectiveNamespace(identity(each)) === namespace);
    const original = inNamespace(originalIdentity);
    const possible =
      namespace === undefined ? candidates : original.length > 0 ? original : inNamespace(currentIdentity);
    const referral = this.#referral(name, possible);
    if (referral === undefined) return;
    const identity = currentIdentity(referral);
    map['name'] = identity.name;
    if (identity.namespace !== '') map['namespace'] = identity.namespace;
  }

  /** Throws a CommandError where several are possible. */
  #referral(name: string, candidates: readonly Resource[]): Resource | undefined {
    const { referrer, target } = this.#options;
    const possible = candidates
      .filter(({ previous }) => previous.some((each) => each.name === name))
      .filter(({ previous }) => previous.some((each) => isSelected(each, target)))
      .filter((each) => this.#isBound(each) && this.#isNear(each));
    if (possible.length === 1) return possible[0];
    const alike = possible.filter(
      ({ prefixes, suffixes }) => hasSameEnd(prefixes, referrer.prefixes) && hasSameEnd(suffixes, referrer.suffixes),
    );
    const names = new Set(alike.map((each) => currentIdentity(each).name));
    if (names.size < 2) return alike[0];
    throw new CommandError(
      ` found multiple possible referrals: ${alike.map((each) => identityText(currentIdentity(each))).join(', ')}`,
    );
  }

  /** A reference to a role says whether it is that of a namespace or of the cluster. */
  #isBound({ previous }: Resource): boolean {
    const { path, referrer } = this.#options;
    const { roleRef } = referrer.object;
    if (!path.endsWith('roleRef/name') || !isJsonObject(roleRef)) return true;
    const { apiGroup, kind } = roleRef;
    if (typeof apiGroup !== 'string' || typeof kind !== 'string') return true;
    return previous.some((each) => isSelected(each, { group: apiGroup, kind }));
  }

  #isNear(resource: Resource): boolean {
    const [from, to] = [currentIdentity(this.#options.referrer), currentIdentity(resource)];
    if (isClusterScoped(from) || isClusterScoped(to) || to.kind === 'ServiceAccount') return true;
    return effectiveNamespace(from) === effectiveNamespace(to);
  }
}

function hasSameEnd(one: readonly string[], other: readonly string[]): boolean {
  const [shorter, longer] = one.length > other.length ? [other, one] : [one, other];
  if (shorter.length === 0) return longer.length === 0;
  return shorter.every((text, i) => text === longer[i + longer.length - shorter.length]);
}
