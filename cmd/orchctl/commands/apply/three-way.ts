/**
 * Client-side apply: the patch is the difference of what was applied before (an annotation has it), what is in the file, and
 * what the server has.
 */

import { parseJSONText } from '#apimachinery/codec/json/text.js';
import { isJsonObject, type JsonObject } from '#apimachinery/codec/json/walk.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { isNotFound, statusOf } from '#apimachinery/errors/status.js';
import { mergeRulesOf, plainRules, strategicDiff } from '#apimachinery/patch/strategic-diff.js';
import type { ApiObject } from '#client/client.js';
import { collectionPath, objectPath, withQuery } from '#cmd/orchctl/api/api.js';
import { annotated } from '#cmd/orchctl/commands/applied.js';
import type { Applied, ApplyWay } from '#cmd/orchctl/commands/apply/way.js';
import { patchTypes } from '#cmd/orchctl/commands/change/patching.js';
import type { Invocation } from '#cmd/orchctl/commands/command.js';
import type { Manifest } from '#cmd/orchctl/commands/manifests.js';
import { scopeOf } from '#cmd/orchctl/commands/selection.js';
import { withSource } from '#cmd/orchctl/commands/writing.js';
import { goJSON } from '#cmd/orchctl/print/json/go-json.js';
import { CommandError } from '#cmd/orchctl/terminal/errors.js';

/** Attempts after another writer was faster. */
const maxAttempts = 5;

export async function applyHere(invocation: Invocation, manifest: Manifest, way: ApplyWay): Promise<Applied> {
  const { dialect, dryRun } = way;
  const { resource, namespace, source } = manifest;
  const name = manifest.object.metadata.name ?? '';
  const placed = withNamespace(manifest.object, namespace);
  const desired = annotated(placed, dialect);
  const path = objectPath(resource, name, scopeOf(namespace));
  for (let attempt = 1; ; attempt += 1) {
    const present = await read(invocation, path, source);
    if (present === undefined) {
      if (dryRun === 'client') return { object: desired, verb: 'created' };
      return { object: await create(invocation, manifest, desired, way), verb: 'created' };
    }
    if (dryRun === 'client') return { object: present, verb: 'configured' };
    if (attempt === 1) warnIfUnknown(invocation, manifest, present, dialect);
    const { body, type } = await applyPatch(desired, present, dialect);
    if (Object.keys(body).length === 0) return { object: present, verb: 'unchanged' };
    const target = withQuery(path, queryOf(invocation, way));
    try {
      const object = await invocation.api.json<ApiObject>('PATCH', target, body, { 'content-type': patchTypes[type] });
      return { object, verb: 'configured' };
    } catch (error) {
      const code = statusOf(error)?.code;
      if (code === 409 && attempt < maxAttempts) continue;
      if ((code === 409 || code === 422) && invocation.values.bool('force')) {
        return { object: await replaceByForce(invocation, manifest, desired, way), verb: 'configured' };
      }
      throw withSource(`applying patch:\n${goJSON(body)}\nto:\n${infoText(manifest, name)}\nfor:`, source, error);
    }
  }
}

function queryOf({ values }: Invocation, { dryRun, directive }: ApplyWay): Record<string, string | undefined> {
  return {
    fieldManager: values.string('field-manager') ?? 'orchctl-client-side-apply',
    dryRun: dryRun === 'server' ? 'All' : undefined,
    fieldValidation: directive,
  };
}

function withNamespace(object: ApiObject, namespace: string | undefined): ApiObject {
  return namespace === undefined ? object : { ...object, metadata: { ...object.metadata, namespace } };
}

async function read({ api }: Invocation, path: string, source: string): Promise<ApiObject | undefined> {
  try {
    return await api.json<ApiObject>('GET', path);
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw withSource('retrieving current configuration of an object from server for', source, error);
  }
}

async function create(
  invocation: Invocation,
  { resource, namespace, source }: Manifest,
  object: ApiObject,
  way: ApplyWay,
): Promise<ApiObject> {
  const path = withQuery(collectionPath(resource, scopeOf(namespace)), queryOf(invocation, way));
  try {
    return await invocation.api.json<ApiObject>('POST', path, object);
  } catch (error) {
    throw withSource('creating', source, error);
  }
}

/** Deletes the object, waits until it is gone, and creates it. */
async function replaceByForce(
  invocation: Invocation,
  manifest: Manifest,
  object: ApiObject,
  way: ApplyWay,
): Promise<ApiObject> {
  const { api, clock, signal } = invocation;
  const { resource, namespace } = manifest;
  const path = objectPath(resource, object.metadata.name ?? '', scopeOf(namespace));
  await api.json('DELETE', path, { kind: 'DeleteOptions', apiVersion: 'v1', propagationPolicy: 'Background' });
  while ((await read(invocation, path, manifest.source)) !== undefined) await clock.sleep(500, signal);
  return create(invocation, manifest, object, way);
}

function warnIfUnknown({ err }: Invocation, { resource }: Manifest, present: ApiObject, dialect: Dialect): void {
  const key = dialect.annotations.lastApplied;
  if (present.metadata.annotations?.[key] !== undefined) return;
  err.write(
    `Warning: resource ${resource.resource}/${present.metadata.name ?? ''} is missing the ${key} annotation which is required by orchctl apply. orchctl apply should only be used on resources created declaratively by either orchctl create --save-config or orchctl apply. The missing annotation will be patched automatically.\n`,
  );
}

/** The patch that brings `present` to `desired`: a merge patch for kinds whose lists have no known keys. */
export async function applyPatch(
  desired: ApiObject,
  present: ApiObject,
  dialect: Dialect,
): Promise<{ body: JsonObject; type: 'strategic' | 'merge' }> {
  // Imported on demand: it has the declarations of all kinds.
  const { schemeFor } = await import('#api/scheme.js');
  const kind = schemeFor(dialect).kind(desired.apiVersion ?? '', desired.kind ?? '');
  const rules = kind === undefined ? plainRules : mergeRulesOf(kind.type);
  const former = originalOf(present, dialect);
  const body = strategicDiff(former, plain(desired), plain(present), rules);
  return { body, type: kind === undefined ? 'merge' : 'strategic' };
}

const plain = (object: ApiObject) => object as unknown as JsonObject;

/** What was applied before. Throws a CommandError if the annotation is no object. */
function originalOf(present: ApiObject, dialect: Dialect): JsonObject {
  const text = present.metadata.annotations?.[dialect.annotations.lastApplied];
  if (text === undefined || text === '') return {};
  let value: unknown;
  try {
    value = parseJSONText(text);
  } catch {
    value = undefined;
  }
  if (!isJsonObject(value)) {
    throw new CommandError(
      `the annotation ${dialect.annotations.lastApplied} of ${present.metadata.name ?? ''} is no JSON object`,
    );
  }
  return value;
}

function infoText({ resource, namespace = '' }: Manifest, name: string): string {
  const { group, version, kind } = resource;
  const place = group === '' ? `/${version}` : `${group}/${version}`;
  return `Resource: "${place}, Resource=${resource.resource}", GroupVersionKind: "${place}, Kind=${kind}"\nName: ${JSON.stringify(name)}, Namespace: ${JSON.stringify(namespace)}`;
}
