import type { ApiObjectShape } from '#api/meta/object.js';
import { inSteps } from '#apimachinery/async/steps.js';
import { DecodeError } from '#apimachinery/codec/json/decode-error.js';
import { isJsonObject } from '#apimachinery/codec/json/walk.js';
import type { Draft } from '#apimachinery/draft.js';
import { goText } from '#apimachinery/errors/go-value.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { type FieldFailure, invalid, statusOf } from '#apimachinery/errors/status.js';
import { conversionFailure } from '#apimachinery/patch/conversion-failure.js';
import type { TypeInfo } from '#apimachinery/schema/type-info.js';
import { forbiddenField, invalidValue, required } from '#apimachinery/validation/failure.js';
import { FieldPath } from '#apimachinery/validation/path.js';
import type { ApiResponse } from '#apiserver/http/exchange.js';
import { warn } from '#apiserver/http/request-context.js';
import { flag } from '#apiserver/http/request-info.js';
import { createInstead } from '#apiserver/registry/create.js';
import { entryResponse, negotiateObject } from '#apiserver/registry/entry-response.js';
import { type Mutated, mutate, type UpdateProfile } from '#apiserver/registry/mutate.js';
import type { Operation } from '#apiserver/registry/operation.js';
import {
  applyPatch,
  applyPatchTracking,
  type Patch,
  patchFindings,
  patchKind,
  patchKinds,
  readPatch,
  reportRepeatedKeys,
  shownOutcome,
} from '#apiserver/registry/patch-body.js';
import { tooLargeToStore } from '#apiserver/registry/record-managers.js';
import { requireOwnName } from '#apiserver/registry/update.js';
import { type WriteOptions, writeOptions } from '#apiserver/registry/write-request.js';
import { pauseOf } from '#apiserver/registry/write-steps.js';
import type { Decoded, TypeRef } from '#apiserver/resources/codec.js';

/**
 * PATCH of an object or of a part of it. If another write wins, the patch is applied again; one that names a resourceVersion
 * gets 409.
 */
export async function patchObject(operation: Operation, profile: UpdateProfile): Promise<ApiResponse> {
  const { registry, context, resource } = operation;
  const form = negotiateObject(operation);
  const options = patchOptions(operation);
  const patch = await readPatch(context, registry.turns, patchKinds(resource, registry));
  await pauseOf(operation)();
  const run = patch.kind === 'apply' ? apply : change;
  const { entry, created } = await run(operation, { patch, profile, options });
  return entryResponse(operation, { entry, form, status: created ? 201 : 200 });
}

interface PatchRun {
  readonly patch: Patch;
  readonly profile: UpdateProfile;
  readonly options: WriteOptions;
}

/** Options common to all patches. Throws 415 for a body that is not a patch, and 422. */
export function patchOptions({ registry, context, resource }: Operation): WriteOptions {
  const { query } = context.info;
  const applies = patchKind(context, patchKinds(resource, registry)) === 'apply';
  const failures: FieldFailure[] = [];
  if (!applies && query.has('force')) {
    failures.push(forbiddenField(FieldPath.of('force'), 'may not be specified for non-apply patch'));
  }
  if (applies && (query.get('fieldManager') ?? '') === '') {
    failures.push(required(FieldPath.of('fieldManager'), 'is required for apply patch'));
  }
  return writeOptions(registry, context, 'PatchOptions', failures);
}

function change(operation: Operation, { patch, profile, options }: PatchRun): Promise<Mutated> {
  const { registry, context, resource } = operation;
  const { namespace, name } = context.info;
  const type = { apiVersion: resource.apiVersion, kind: resource.declaration.kind };
  const fields = registry.codec.typeOf(type);
  const findings = patchFindings(patch, options.fieldValidation);
  return mutate(operation, {
    namespace,
    name,
    profile,
    options,
    change: (current, { canonical }, pause) =>
      inSteps(patched(operation, { patch, current, fields, canonical, options, findings }), pause),
  });
}

interface PatchInSteps {
  readonly patch: Patch;
  readonly current: ApiObjectShape;
  readonly fields: TypeInfo;
  /** Whether `current` is in canonical form. */
  readonly canonical: boolean;
  readonly options: WriteOptions;
  /** Findings about the patch itself. */
  readonly findings: readonly string[];
}

function* patched(operation: Operation, { patch, current, fields, canonical, options, findings }: PatchInSteps) {
  if (!canonical) {
    const object = yield* applyPatch(patch, current, fields);
    yield;
    return normalized(operation, { options, patch, object, findings });
  }
  const { value, unchanged } = yield* applyPatchTracking(patch, current, fields);
  yield;
  return normalized(operation, { options, patch, object: value, canonical: unchanged, findings });
}

async function apply(operation: Operation, { patch, profile, options }: PatchRun): Promise<Mutated> {
  const { registry, context, resource } = operation;
  const { namespace, name } = context.info;
  const { fieldManager: manager } = options;
  const { subresource } = profile;
  const force = flag(context.info.query, 'force');
  const request = { context, resource, configuration: patch.body, manager, force, subresource };
  // The new object will contain the whole patch, owned by the manager.
  const tooLarge = tooLargeToStore(context, patch.body as object, { managedAs: resource.type });
  if (tooLarge !== undefined) throw tooLarge;
  return mutate(operation, {
    namespace,
    name,
    profile,
    options,
    trackFields: false,
    change: async (live, _start, pause) => {
      const object = await registry.managedFields.applyInSteps({ ...request, live }, pause);
      reportRepeatedKeys(context, patch, options.fieldValidation);
      await pause();
      return normalized(operation, { options, patch, object });
    },
    ...(profile.subresource === ''
      ? {
          create: async () => {
            const pause = pauseOf(operation);
            const applied = await registry.managedFields.applyInSteps(request, pause);
            reportRepeatedKeys(context, patch, options.fieldValidation);
            await pause();
            const object = normalized(operation, { options, patch, object: applied });
            return createInstead(operation, { object, namespace, options, trackFields: false });
          },
        }
      : {}),
  });
}

interface Outcome {
  readonly options: WriteOptions;
  readonly patch: Patch;
  readonly object: unknown;
  /** Members that the patch left alone, if the object was in canonical form. */
  readonly canonical?: ReadonlySet<unknown>;
  /** Findings about the patch itself. */
  readonly findings?: readonly string[];
}

/** The patch's result as an object of the resource's kind. */
function normalized(operation: Operation, outcome: Outcome): Draft<ApiObjectShape> {
  const { context, resource } = operation;
  const type = { apiVersion: resource.apiVersion, kind: resource.declaration.kind };
  const object = patchedObject(operation, type, outcome);
  requireOwnName(resource, object, context.info);
  return object;
}

/**
 * The patch's result as an object of the type. Its faults are reported as the patch's, as in 1.24: 422 for a well-formed
 * patch. An applied configuration was checked before the merge.
 */
export function patchedObject(
  { registry, context }: Operation,
  type: TypeRef,
  outcome: Outcome,
): Draft<ApiObjectShape> {
  const { options, patch, object, canonical, findings = [] } = outcome;
  const strategic = patch.kind === 'strategic';
  const refusal = (why: string) => {
    const patchText = strategic ? goText(patch.body) : shownOutcome(patch, object, registry.codec.typeOf(type));
    return invalid({ group: '', kind: '' }, '', [invalidValue(FieldPath.of('patch'), patchText, why)]);
  };
  // 1.24 converts the result of a strategic patch without checking its kind.
  if (strategic && isJsonObject(object)) Object.assign(object, type);
  const strict = options.fieldValidation === 'Strict';
  let decoded: Decoded;
  try {
    decoded = registry.codec.normalize(object, type, strict ? 'Warn' : options.fieldValidation, canonical);
  } catch (error) {
    if (statusOf(error)?.code !== 400) throw error;
    const { cause } = error as Error;
    const failure = strategic ? conversionFailure(registry.codec.typeOf(type), object) : undefined;
    throw refusal(failure ?? messageOf(cause instanceof DecodeError ? cause : error));
  }
  const warnings = [...findings, ...decoded.warnings];
  if (strict && warnings.length > 0) throw refusal(`strict decoding error: ${warnings.join(', ')}`);
  for (const text of warnings) warn(context, text);
  return decoded.object;
}
