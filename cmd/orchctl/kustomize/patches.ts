/** Patches of kustomizations: strategic merges, and JSON patches. */
import { schemeFor } from '#api/scheme.js';
import { isJsonObject, type JsonObject } from '#apimachinery/codec/json/walk.js';
import { parseYAML } from '#apimachinery/codec/yaml.js';
import { kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { jsonPatch } from '#apimachinery/patch/json-patch.js';
import type { TypeInfo } from '#apimachinery/schema/type-info.js';
import type { Folder } from '#cmd/orchctl/kustomize/files.js';
import {
  currentIdentity,
  metadataOf,
  newResource,
  originalIdentity,
  type Resource,
  rememberIdentity,
} from '#cmd/orchctl/kustomize/identity.js';
import type { Kustomization, Patch } from '#cmd/orchctl/kustomize/kustomization.js';
import { objectsIn } from '#cmd/orchctl/kustomize/objects.js';
import type { ResourceList } from '#cmd/orchctl/kustomize/resource-list.js';
import { strategicMerge } from '#cmd/orchctl/kustomize/strategic-merge.js';
import { CommandError } from '#cmd/orchctl/terminal/errors.js';

/** `patchesStrategicMerge`: texts of patches, or their files. Throws a CommandError. */
export async function applyStrategicPatches(
  list: ResourceList,
  patches: Kustomization['patchesStrategicMerge'],
  folder: Folder,
): Promise<void> {
  const loaded: JsonObject[] = [];
  for (const patch of patches) loaded.push(...(inlineObjects(patch) ?? objectsIn(await folder.read(patch), patch)));
  for (const patch of loaded) merge(list, list.only(originalIdentity(newResource(patch))), withoutNulls(patch), {});
}

/** Undefined for what is the path of a file. */
function inlineObjects(text: string): JsonObject[] | undefined {
  try {
    const objects = objectsIn(Buffer.from(text), 'patch');
    return objects.length === 0 ? undefined : objects;
  } catch {
    return undefined;
  }
}

/** An entry of `patches`. Throws a CommandError. */
export async function applyPatchEntry(list: ResourceList, entry: Patch, folder: Folder): Promise<void> {
  const { patch = '', path = '', target, options = {} } = entry;
  const inline = patch.trim();
  if (inline === '' && path === '')
    throw new CommandError(`must specify one of patch and path in\n${JSON.stringify(entry)}`);
  if (inline !== '' && path !== '') {
    throw new CommandError(`patch and path can't be set at the same time\n${JSON.stringify(entry)}`);
  }
  const text = inline === '' ? (await folder.read(path)).toString('utf8') : inline;
  const operations = operationsIn(text);
  if (operations !== undefined) {
    if (target === undefined) throw new CommandError(`must specify a target for patch ${text}`);
    for (const resource of list.select(target)) {
      rememberIdentity(resource);
      patchByOperations(resource, operations);
    }
    return;
  }
  const objects = inlineObjects(text);
  const [object, another] = objects ?? [];
  if (object === undefined || another !== undefined) {
    throw new CommandError(`unable to parse SM or JSON patch from [${text}]`);
  }
  const targets = target === undefined ? [list.only(originalIdentity(newResource(object)))] : list.select(target);
  const copied = target === undefined ? object : withoutNulls(object);
  for (const resource of targets) merge(list, resource, copied, options);
}

/** As kustomize copies a patch: labels and annotations that it means to remove become empty. */
function withoutNulls(patch: JsonObject): JsonObject {
  const metadata = { ...metadataOf(patch) };
  for (const name of ['labels', 'annotations']) {
    const map = metadata[name];
    if (!isJsonObject(map)) continue;
    metadata[name] = Object.fromEntries(Object.entries(map).map(([key, value]) => [key, value ?? '']));
  }
  return { ...patch, metadata };
}

/** An entry of `patchesJson6902`. Throws a CommandError. */
export async function applyOperationsEntry(list: ResourceList, entry: Patch, folder: Folder): Promise<void> {
  const { patch = '', path = '', target } = entry;
  if ((target?.name ?? '') === '') throw new CommandError('must specify the target name');
  if (path === '' && patch === '') throw new CommandError('empty file path and empty jsonOp');
  if (path !== '' && patch !== '') throw new CommandError('must specify a file path or jsonOp, not both');
  const text = patch === '' ? (await folder.read(path)).toString('utf8') : patch;
  const operations = operationsIn(text);
  if (operations === undefined || operations.length === 0) {
    throw new CommandError(`patch appears to be empty; file=${path}, JsonOp=${text}`);
  }
  for (const resource of list.select(target ?? {})) patchByOperations(resource, operations);
}

/** A list of operations in JSON or YAML; undefined for other texts. */
function operationsIn(text: string): JsonObject[] | undefined {
  let value: unknown;
  try {
    value = parseYAML(text);
  } catch {
    return undefined;
  }
  return Array.isArray(value) && value.every(isJsonObject) ? value : undefined;
}

function patchByOperations(resource: Resource, operations: readonly JsonObject[]): void {
  try {
    resource.object = jsonPatch(resource.object, operations) as JsonObject;
  } catch (error) {
    throw new CommandError(messageOf(error));
  }
}

function merge(
  list: ResourceList,
  resource: Resource,
  patch: JsonObject,
  options: Readonly<Record<string, boolean>>,
): void {
  const { kind, name, namespace } = currentIdentity(resource);
  const { allowNameChange = false, allowKindChange = false } = options;
  if (allowNameChange || allowKindChange) rememberIdentity(resource);
  const { apiVersion } = resource.object;
  const merged = strategicMerge(resource.object, { ...patch, apiVersion }, typeOf(resource.object));
  if (merged === undefined || Object.keys(merged).length === 0) {
    list.keep((each) => each !== resource);
    return;
  }
  const { namespace: _namespace, ...metadata } = metadataOf(merged);
  resource.object = {
    ...merged,
    kind: allowKindChange ? merged['kind'] : kind,
    metadata: {
      ...metadata,
      ...(allowNameChange ? {} : { name }),
      ...(namespace === '' ? {} : { namespace }),
    },
  };
}

/** The type of a built-in kind, whose lists may have keys. */
function typeOf({ apiVersion, kind }: JsonObject): TypeInfo | undefined {
  const types = [kubernetesDialect, orchDialect].map(
    (dialect) => schemeFor(dialect).kind(String(apiVersion), String(kind))?.type,
  );
  return types.find((type) => type !== undefined);
}
