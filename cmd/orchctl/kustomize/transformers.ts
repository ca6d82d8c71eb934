/** Namespaces, names, labels, annotations, counts and images of the objects of a kustomization. Pure. */
import { isJsonObject, type JsonObject } from '#apimachinery/codec/json/walk.js';
import { visitField } from '#cmd/orchctl/kustomize/field-path.js';
import {
  currentIdentity,
  identityText,
  isClusterScoped,
  isSame,
  isSelected,
  metadataOf,
  originalIdentity,
  rememberIdentity,
} from '#cmd/orchctl/kustomize/identity.js';
import { changedImage } from '#cmd/orchctl/kustomize/image-name.js';
import type { ImageChange, Kustomization } from '#cmd/orchctl/kustomize/kustomization.js';
import type { ResourceList } from '#cmd/orchctl/kustomize/resource-list.js';
import type { FieldSpec } from '#cmd/orchctl/kustomize/specs.js';
import { CommandError } from '#cmd/orchctl/terminal/errors.js';

export function setNamespace(list: ResourceList, namespace: string, specs: readonly FieldSpec[]): void {
  for (const resource of list.all) {
    rememberIdentity(resource);
    const { object } = resource;
    const identity = currentIdentity(resource);
    if (!isClusterScoped(identity)) metadataOf(object)['namespace'] = namespace;
    if (identity.kind === 'RoleBinding' || identity.kind === 'ClusterRoleBinding')
      moveDefaultAccounts(object, namespace);
    for (const spec of specs) {
      if (!isSelected(identity, spec)) continue;
      visitField(object, spec.path, {
        create: spec.create === true ? 'scalar' : undefined,
        visit: (holder, key) => Object.assign(holder, { [key]: namespace }),
      });
    }
    const moved = currentIdentity(resource);
    if (list.all.filter((each) => isSame(currentIdentity(each), moved)).length > 1) {
      throw new CommandError(`namespace transformation produces ID conflict: ${identityText(moved)}`);
    }
  }
}

/** The accounts that every namespace has. */
function moveDefaultAccounts({ subjects }: JsonObject, namespace: string): void {
  for (const subject of Array.isArray(subjects) ? subjects : []) {
    if (isJsonObject(subject) && subject['name'] === 'default') subject['namespace'] = namespace;
  }
}

/** Kinds whose names are meant for the whole cluster, or are made of other names. */
const fixedNames: readonly (readonly [kind: string, group?: string])[] = [
  ['CustomResourceDefinition'],
  ['APIService', 'apiregistration'],
  ['Namespace'],
];

export function addToNames(list: ResourceList, prefix: string, suffix: string): void {
  for (const resource of list.all) {
    const original = originalIdentity(resource);
    if (fixedNames.some(([kind, group = '']) => isSelected(original, { kind, group }))) continue;
    for (const [text, record] of [
      [prefix, resource.prefixes],
      [suffix, resource.suffixes],
    ] as const) {
      if (text === '') continue;
      record.push(text);
      rememberIdentity(resource);
      const metadata = metadataOf(resource.object);
      const name = String(metadata['name'] ?? '');
      metadata['name'] = record === resource.prefixes ? `${text}${name}` : `${name}${text}`;
    }
  }
}

/** Sets members of the maps that the specs find, such as labels. */
export function setMembers(
  list: ResourceList,
  members: Readonly<Record<string, string>>,
  specs: readonly FieldSpec[],
): void {
  if (Object.keys(members).length === 0) return;
  for (const resource of list.all) {
    const identity = currentIdentity(resource);
    for (const spec of specs) {
      if (!isSelected(identity, spec)) continue;
      visitField(resource.object, spec.path, {
        create: spec.create === true ? 'map' : undefined,
        visit: (holder, key) => {
          const map: unknown = (holder as JsonObject)[key];
          Object.assign(holder, { [key]: { ...(isJsonObject(map) ? map : {}), ...members } });
        },
      });
    }
  }
}

/** The specs of labels: those of all labels where selectors are included, and those of the field itself. */
export function labelSpecs(
  { includeSelectors, includeTemplates, fields = [] }: Kustomization['labels'][number],
  common: readonly FieldSpec[],
): readonly FieldSpec[] {
  if (includeSelectors === true) return [...fields, ...common];
  const templates =
    includeTemplates === true ? common.filter(({ path }) => path.endsWith('template/metadata/labels')) : [];
  return [...fields, { path: 'metadata/labels', create: true }, ...templates];
}

/** Throws a CommandError for a name that no object has. */
export function setReplicas(
  list: ResourceList,
  { name, count }: Kustomization['replicas'][number],
  specs: readonly FieldSpec[],
): void {
  let isUsed = false;
  for (const spec of specs) {
    const matches = list.withAnyIdentity((each) => each.name === name && isSelected(each, spec));
    for (const { object } of matches) {
      isUsed = true;
      visitField(object, spec.path, {
        create: spec.create === true ? 'scalar' : undefined,
        visit: (holder, key) => Object.assign(holder, { [key]: count }),
      });
    }
  }
  if (isUsed) return;
  const kinds = specs.map(({ kind = '', group, version }) => [group, version, kind].filter(Boolean).join('_'));
  throw new CommandError(
    `resource with name ${name} does not match a config with the following GVK [${kinds.join(', ')}]`,
  );
}

export function setImages(list: ResourceList, change: ImageChange, specs: readonly FieldSpec[]): void {
  for (const resource of list.all) {
    const identity = currentIdentity(resource);
    if (identity.kind === 'CustomResourceDefinition') continue;
    setAnyImages(resource.object, change);
    for (const spec of specs) {
      if (!isSelected(identity, spec)) continue;
      visitField(resource.object, spec.path, {
        visit: (holder, key) => {
          const image: unknown = (holder as JsonObject)[key];
          if (typeof image === 'string') Object.assign(holder, { [key]: changedImage(image, change) });
        },
      });
    }
  }
}

/** Those of containers anywhere in the object, as custom kinds have them too. */
function setAnyImages(value: unknown, change: ImageChange): void {
  if (Array.isArray(value)) {
    for (const each of value) setAnyImages(each, change);
    return;
  }
  if (!isJsonObject(value)) return;
  for (const [key, member] of Object.entries(value)) {
    setAnyImages(member, change);
    if ((key !== 'containers' && key !== 'initContainers') || !Array.isArray(member)) continue;
    for (const container of member) {
      if (!isJsonObject(container)) continue;
      const { image } = container;
      if (typeof image === 'string') container['image'] = changedImage(image, change);
    }
  }
}
