/** Field ownership: recorded by the registry's writes, used by server-side apply. */
import type { ApiObjectShape, OwnMetadata } from '#api/meta/object.js';
import { strategyFor } from '#api/strategies.js';
import { type ApplyRequest, applySteps } from '#apimachinery/apply/apply.js';
import {
  type ConversionAnswer,
  type ConversionQuestion,
  type OtherVersions,
  withQuestions,
} from '#apimachinery/apply/conversions.js';
import {
  type Unmanaged,
  type UpdateRequest,
  unmanagedBy,
  updateManagedFields,
  type WriteInfo,
} from '#apimachinery/apply/managed-fields.js';
import type { ManagedFieldsEntry } from '#apimachinery/apply/managers.js';
import type { JsonObject } from '#apimachinery/apply/structure.js';
import { andThen, inSteps, type MaybePromise, type Pause } from '#apimachinery/async/steps.js';
import type { Clock } from '#apimachinery/clock.js';
import { copyJson, copyJsonSteps } from '#apimachinery/collections/copy.js';
import { type Dialect, kubernetesDialect } from '#apimachinery/dialect.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { statusOf } from '#apimachinery/errors/status.js';
import { oncePer } from '#apimachinery/memo/once-per.js';
import type { ResourceInfo, Scheme } from '#apimachinery/schema/scheme.js';
import { type RequestContext, warn } from '#apiserver/http/request-context.js';
import type { Codec } from '#apiserver/resources/codec.js';
import type { ServedResource } from '#apiserver/resources/served-resource.js';

export interface ManagedFieldsOptions {
  readonly dialect: Dialect;
  readonly clock: Clock;
  readonly codec: Codec;
}

/** The request on whose behalf objects are converted. */
interface ConversionScope {
  readonly context: Pick<RequestContext, 'signal' | 'warnings'>;
  readonly resource: ServedResource;
}

export interface ManagedWrite extends ConversionScope {
  /** The object to store; its metadata.managedFields are set in place. */
  readonly object: OwnMetadata;
  /** The stored object; absent for a new one. */
  readonly old?: ApiObjectShape;
  readonly manager: string;
  readonly subresource: string;
}

export interface Application extends ConversionScope {
  /** The applied configuration, as parsed. */
  readonly configuration: unknown;
  /** Absent when the object does not exist yet. */
  readonly live?: ApiObjectShape;
  readonly manager: string;
  readonly force: boolean;
  readonly subresource: string;
  /** The version that conflicts name for fields set without apply; absent: the version of the manager. */
  readonly conflictVersion?: string;
}

type Members = Record<string, unknown>;

const members = (object: ApiObjectShape | undefined) => object as unknown as Members | undefined;

export class ManagedFields {
  readonly #options: ManagedFieldsOptions;

  constructor(options: ManagedFieldsOptions) {
    this.#options = options;
  }

  /**
   * Makes the manager the owner of each field that the write changes, or of all fields of a new object. Returns a promise if
   * `pause`, called between the steps, returns one, or if a webhook converts the managers' versions; rejects if the write
   * could not be stored either.
   */
  written(write: ManagedWrite, pause: Pause): MaybePromise<void> {
    const ask = (question: ConversionQuestion) => convertIfPossible(write, question);
    const entries = withQuestions(updateManagedFields(this.#update(write)), { pause, ask });
    return andThen(entries, (all) => setEntries(write.object, recordedEntries(write, all)));
  }

  #update({ object, old, resource, manager, subresource }: ManagedWrite): UpdateRequest {
    const info = this.#info({ resource, manager, subresource });
    return { ...info, live: members(old), updated: object as unknown as Members };
  }

  /**
   * The merged object with its managedFields, not yet normalized, sharing nothing with `live`. `pause` is awaited between the
   * steps. Throws 400 for a configuration of another kind, 409 with one cause per field that another manager owns, and the
   * errors of conversion between versions.
   */
  async applyInSteps(application: Application, pause: Pause): Promise<unknown> {
    const steps = applySteps(this.#request(application));
    const { object } = await withQuestions(steps, { pause, ask: (question) => convertObjects(application, question) });
    const pausing = pause();
    if (pausing !== undefined) await pausing;
    // The merge shares unchanged parts with the cached object, and later steps write into the result.
    return inSteps(copyJsonSteps(object), pause);
  }

  #request(application: Application): ApplyRequest {
    const { configuration: applied, force, live, manager, conflictVersion } = application;
    const client = [this.#options.dialect, kubernetesDialect].map(clientSideApply).find((c) => c.manager === manager);
    const request = {
      ...this.#info(application),
      applied,
      force,
      live: members(live),
      ...(conflictVersion && { conflictVersion }),
    };
    return client === undefined ? request : { ...request, clientSideApply: client };
  }

  #info({ resource, manager, subresource }: Pick<ManagedWrite, 'resource' | 'manager' | 'subresource'>): WriteInfo {
    const { apiVersion } = resource;
    const { clock, codec } = this.#options;
    const versions = versionsOf(resource, { codec });
    const reset = resetFields(resource, subresource);
    const spoken = { type: resource.type, apiVersion, manager, subresource, reset };
    // 1.24 records no time for writes of `scale`.
    const info = subresource === 'scale' ? spoken : { ...spoken, now: clock.now() };
    return versions === undefined ? info : { ...info, versions };
  }
}

async function convertObjects(
  { resource, context }: ConversionScope,
  { objects, apiVersion }: ConversionQuestion,
): Promise<ConversionAnswer> {
  const { conversion } = resource;
  if (conversion?.kind !== 'remote') throw new RangeError(`no conversion from ${resource.apiVersion} to ${apiVersion}`);
  const converted = await conversion.between(objects as unknown as ApiObjectShape[], apiVersion, context.signal);
  return converted as unknown as ConversionAnswer;
}

/**
 * Converts field ownership alone. As in 1.24, a webhook that is down must not block a write that needs no other conversion.
 * (1.24 then drops all managers. Here the managers of that version keep their fields, at worst one field too many.)
 */
async function convertIfPossible(scope: ConversionScope, question: ConversionQuestion): Promise<ConversionAnswer> {
  const { resource, context } = scope;
  try {
    return await convertObjects(scope, question);
  } catch (error) {
    const isStoredVersion = resource.apiVersion === resource.stored.apiVersion;
    // Give up if the client disconnected or must try again later (429).
    if (!isStoredVersion || context.signal.aborted || statusOf(error)?.code !== 500) throw error;
    warn(context, `managers keep the fields they have in ${question.apiVersion}: ${messageOf(error)}`);
    return undefined;
  }
}

/**
 * Drops the entries of `scale` where 1.24 records none: for custom kinds, whose types include no Scale, and for zero
 * replicas, which a Scale omits.
 */
function recordedEntries(
  { resource, subresource, object }: Pick<ManagedWrite, 'resource' | 'subresource' | 'object'>,
  entries: readonly ManagedFieldsEntry[],
): readonly ManagedFieldsEntry[] {
  if (subresource !== 'scale') return entries;
  const { replicas } = (object as { readonly spec?: { readonly replicas?: unknown } }).spec ?? {};
  if (resource.edition === undefined && (replicas ?? 0) !== 0) return entries;
  return entries.filter((entry) => entry.subresource !== subresource);
}

/** Copies the entries: the stored object's belong to the cache, and plugins may change the new ones. */
function setEntries({ metadata }: OwnMetadata, entries: readonly ManagedFieldsEntry[]): void {
  const copies = entries.map((entry) => ({ ...entry }));
  if (copies.length > 0) metadata.managedFields = copies;
  else delete metadata.managedFields;
}

/** The command-line client's manager name, and the annotation with the configuration that it last applied itself. */
function clientSideApply(dialect: Dialect): { manager: string; annotation: string } {
  const annotation = dialect.annotations.lastApplied;
  return { annotation, manager: annotation.slice(0, annotation.indexOf('.')) };
}

/** All fields except the status. */
const statusAlone = ['spec', 'metadata'];

/** Virtual resources are never stored, so they reset nothing. */
const nothing: readonly string[] = [];

/** Fields that endpoints with an unusual reset reset (1.24: `GetResetFields`), by group, resource and subresource. */
const unusualResets: ReadonlyMap<string, Unmanaged> = new Map(
  Object.entries({
    'apiextensions/customresourcedefinitions/status': statusAlone,
    'apiregistration/apiservices/status': statusAlone,
    'apiserverinternal/storageversions/status': statusAlone,
    'apps/deployments/status': ['spec', 'metadata.labels'],
    'authentication/tokenreviews/': nothing,
    'authorization/localsubjectaccessreviews/': nothing,
    'authorization/selfsubjectaccessreviews/': nothing,
    'authorization/subjectaccessreviews/': nothing,
    'certificates/certificatesigningrequests/': ['spec', 'status'],
    'certificates/certificatesigningrequests/approval': ['spec', 'status.certificate'],
    'certificates/certificatesigningrequests/status': ['spec', 'status.conditions'],
    'core/namespaces/finalize': ['status'],
    'core/pods/status': ['spec', 'metadata.deletionTimestamp', 'metadata.ownerReferences'],
    'flowcontrol/flowschemas/status': statusAlone,
    'flowcontrol/prioritylevelconfigurations/status': statusAlone,
    'storage/volumeattachments/status': statusAlone,
  }).map(([endpoint, fields]) => [endpoint, unmanagedBy(fields)]),
);

/** Undefined for the usual reset: the object's endpoint resets the status, `/status` the spec, other endpoints nothing. */
function resetFields({ declaration, edition }: ServedResource, subresource: string): Unmanaged | undefined {
  if (edition !== undefined) return undefined;
  return unusualResets.get(`${declaration.group}/${declaration.resource}/${subresource}`);
}

/** All versions, served or not, grouped by the form in which they are stored. */
const versionsByStored = oncePer((scheme: Scheme): ReadonlyMap<string, readonly ResourceInfo[]> => {
  const versions = new Map<string, ResourceInfo[]>();
  for (const info of scheme.resources) {
    const { group, version, storedAs, kind } = info.declaration;
    const stored = `${scheme.dialect.apiVersion(storedAs?.group ?? group, storedAs?.version ?? version)}/${kind}`;
    versions.set(stored, [...(versions.get(stored) ?? []), info]);
  }
  return versions;
});

/** Undefined for resources with one version. */
function versionsOf(
  { stored, conversion, otherVersions, type }: ServedResource,
  { codec }: { readonly codec: Codec },
): OtherVersions | undefined {
  if (type.prune !== undefined) return otherVersions;
  const all = versionsByStored(codec.scheme).get(`${stored.apiVersion}/${stored.kind}`) ?? [];
  if (all.length < 2) return undefined;
  const typeOf = (version: string) => all.find((info) => info.apiVersion === version)?.type;
  if (conversion?.kind === 'remote') return { typeOf };
  const converted = (object: JsonObject, to: string): JsonObject => {
    const from = typeof object.apiVersion === 'string' ? object.apiVersion : stored.apiVersion;
    // Partial objects lack members that their kind requires; normalizing adds them.
    const { object: whole } = codec.normalize(copyJson(object), { apiVersion: from, kind: stored.kind }, 'Ignore');
    const hub = conversionOf(all, from)?.toStored(whole, codec.scheme) ?? whole;
    const result: ApiObjectShape = conversionOf(all, to)?.fromStored(hub, codec.scheme) ?? hub;
    // The conversion may leave the stored version's name in place.
    return { ...result, apiVersion: to };
  };
  return { typeOf, convert: (objects, to) => objects.map((object) => converted(object, to)) };
}

function conversionOf(all: readonly ResourceInfo[], apiVersion: string) {
  const info = all.find((one) => one.apiVersion === apiVersion);
  return info === undefined ? undefined : strategyFor(info.declaration).conversion;
}
