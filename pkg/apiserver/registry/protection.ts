/**
 * Objects with an annotation that protects them from deletion, and what contains them: a namespace, or the definition of their
 * kind. Pure but for the reads of the content.
 */
import type { ApiObjectShape } from '#api/meta/object.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { forbidden, type StatusError, statusOf } from '#apimachinery/errors/status.js';
import type { Operation } from '#apiserver/registry/operation.js';
import { isNamespaces, type ServedResource } from '#apiserver/resources/served-resource.js';
import type { Entry } from '#storage/resource-storage.js';

/** Names in one refusal. */
const maxNames = 5;
/** Objects between checks for other waiting work. */
const slice = 64;

/** Why the object is protected: the value of its annotation; undefined if it is not. */
function protectionOf({ annotations }: Dialect, { metadata }: ApiObjectShape): string | undefined {
  const value = metadata.annotations?.[annotations.protectFromDeletion];
  return value === undefined || value === 'false' ? undefined : value;
}

/** Throws 403 for a protected object. One that is being deleted already is not protected any more. */
export function requireUnprotected(
  { registry: { dialect }, resource }: Pick<Operation, 'registry' | 'resource'>,
  object: ApiObjectShape,
): void {
  const { deletionTimestamp, name = '', namespace } = object.metadata;
  if (deletionTimestamp !== undefined) return;
  const value = protectionOf(dialect, object);
  if (value === undefined) return;
  const key = dialect.annotations.protectFromDeletion;
  const reason = value === '' || value === 'true' ? '' : ` (${value})`;
  const where = namespace === undefined || namespace === '' ? '' : ` -n ${namespace}`;
  const { resource: plural } = resource.declaration;
  throw refusal(
    resource,
    name,
    `it is protected from deletion by the annotation ${key}${reason}; to delete it, remove the annotation first: annotate ${plural} ${name}${where} ${key}-`,
  );
}

/** Throws 403 if any of the entries is protected: a collection is deleted as a whole or not at all. */
export async function requireUnprotectedEntries(operation: Operation, entries: readonly Entry[]): Promise<void> {
  const names = await protectedNames(operation, operation.resource, entries);
  if (names.length > 0) throw refusalOfContent(operation, '', names);
}

/** Throws 403 for a namespace or a definition with protected objects. Other objects contain none. */
export async function requireUnprotectedContent(operation: Operation, object: ApiObjectShape): Promise<void> {
  const { context, registry, resource } = operation;
  const { deletionTimestamp, name = '' } = object.metadata;
  if (deletionTimestamp !== undefined) return;
  const isNamespace = isNamespaces(resource.declaration);
  const content = contentOf(registry.resources.all(), resource, object);
  const names: string[] = [];
  for (const each of content) {
    if (names.length > maxNames) break;
    const scope = isNamespace ? `${name}/` : '';
    names.push(...(await protectedNames(operation, each, await readable(each, scope, context.signal))));
  }
  if (names.length > 0) throw refusalOfContent(operation, name, names);
}

/** None where objects cannot be read: as in 1.24, that does not keep the namespace; their own deletions fail. */
async function readable({ storage }: ServedResource, scope: string, signal: AbortSignal): Promise<readonly Entry[]> {
  try {
    return (await storage.list({ scope, version: { kind: 'latest' }, signal })).entries;
  } catch (error) {
    signal.throwIfAborted();
    if (statusOf(error) === undefined) throw error;
    return [];
  }
}

/** True for kinds whose deletion deletes other objects of any kind. */
export function hasContent({ declaration }: ServedResource): boolean {
  return isNamespaces(declaration) || isDefinitions(declaration);
}

function isDefinitions({ group, resource }: ServedResource['declaration']): boolean {
  return group === 'apiextensions' && resource === 'customresourcedefinitions';
}

/** One version of each resource. Objects that expire by themselves are no content to protect. */
function contentOf(
  all: readonly ServedResource[],
  { declaration }: ServedResource,
  object: ApiObjectShape,
): Iterable<ServedResource> {
  const { spec } = object as { spec?: { group?: string; names?: { plural?: string } } };
  const isContent = isNamespaces(declaration)
    ? (each: ServedResource) => each.declaration.namespaced
    : (each: ServedResource) => each.group === spec?.group && each.declaration.resource === spec.names?.plural;
  const byStorage = new Map(
    all
      .filter((each) => each.ttlSeconds === undefined && each.declaration.verbs.includes('delete') && isContent(each))
      .map((each) => [each.storage, each]),
  );
  return byStorage.values();
}

async function protectedNames(
  { registry }: Operation,
  { declaration }: ServedResource,
  entries: readonly Entry[],
): Promise<string[]> {
  const { dialect, turns } = registry;
  const mark = dialect.annotations.protectFromDeletion.split('/').at(-1) ?? '';
  const names: string[] = [];
  for (const [i, entry] of entries.entries()) {
    if (i % slice === slice - 1) await turns.bulk.pause();
    // Most objects do not have the annotation, and need not be parsed.
    if (!entry.stored.includes(mark)) continue;
    const object = entry.object() as ApiObjectShape;
    if (object.metadata.deletionTimestamp !== undefined || protectionOf(dialect, object) === undefined) continue;
    names.push(`${declaration.resource} ${object.metadata.name ?? ''}`);
    if (names.length > maxNames) break;
  }
  return names;
}

function refusalOfContent({ registry: { dialect }, resource }: Operation, name: string, names: readonly string[]) {
  const shown = names.slice(0, maxNames).join(', ');
  const more = names.length > maxNames ? ' and others' : '';
  const what = name === '' ? 'nothing is deleted, because' : 'it contains what may not be deleted:';
  const key = dialect.annotations.protectFromDeletion;
  return refusal(
    resource,
    name,
    `${what} ${shown}${more} ${names.length === 1 ? 'is' : 'are'} protected by the annotation ${key}`,
  );
}

function refusal({ qualified }: ServedResource, name: string, why: string): StatusError {
  const error = forbidden(qualified, name, why);
  error.status.details = {
    ...error.status.details,
    causes: [{ reason: 'ProtectedFromDeletion', message: why, field: 'metadata.annotations' }],
  };
  return error;
}
