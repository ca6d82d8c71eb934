/** Who manages which fields: what the writes of the registry tell, and what server-side apply asks. */
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
import { type RequestContext, warn } from '#apiserver/http/context.js';
import type { Codec } from '#apiserver/resources/codec.js';
import type { ServedResource } from '#apiserver/resources/served-resource.js';

export interface ManagedFieldsOptions {
  readonly dialect: Dialect;
  readonly clock: Clock;
  readonly codec: Codec;
}

/** Who asks, for what has to be asked of others on the way. */
interface Asked {
  readonly context: Pick<RequestContext, 'signal' | 'warnings'>;
  readonly resource: ServedResource;
}

export interface ManagedWrite extends Asked {
  /** The object about to be stored; its metadata.managedFields are set. */
  readonly object: OwnMetadata;
  /** As it is stored now; absent for a new object. */
  readonly old?: ApiObjectShape;
  readonly manager: string;
  readonly subresource: string;
}

export interface Application extends Asked {
  /** The applied configuration, as parsed. */
  readonly configuration: unknown;
  /** Absent when the object does not exist yet. */
  readonly live?: ApiObjectShape;
  readonly manager: string;
  readonly force: boolean;
  readonly subresource: string;
  /** The version that conflicts name for those who wrote by other means; absent: theirs. */
  readonly toldAs?: string;
}

type Members = Record<string, unknown>;

const members = (object: ApiObjectShape | undefined) => object as unknown as Members | undefined;

export class ManagedFields {
  readonly #options: ManagedFieldsOptions;

  constructor(options: ManagedFieldsOptions) {
    this.#options = options;
  }

  /**
   * Who changes a field manages it from now on, and all of a new object. A promise where `pause`, which comes between the
   * steps, gives one, and where others convert the versions that managers speak; it rejects where the write could not be
   * stored either.
   */
  written(write: ManagedWrite, pause: Pause): MaybePromise<void> {
    const ask = (question: ConversionQuestion) => askIfPossible(write, question);
    const entries = withQuestions(updateManagedFields(this.#update(write)), { pause, ask });
    return andThen(entries, (all) => setEntries(write.object, tracked(write, all)));
  }

  #update({ object, old, resource, manager, subresource }: ManagedWrite): UpdateRequest {
    const info = this.#info({ resource, manager, subresource });
    return { ...info, live: members(old), updated: object as unknown as Members };
  }

  /**
   * The merged object with its managedFields, not yet normalized, sharing nothing with `live`. `pause` comes between the
   * steps, and says when the next one may begin. Throws 400 for a configuration that is not of the kind, 409 with one cause
   * per field that another manager owns, and what the conversion between versions rejects with.
   */
  async applyInSteps(application: Application, pause: Pause): Promise<unknown> {
    const steps = applySteps(this.#request(application));
    const { object } = await withQuestions(steps, { pause, ask: (question) => ask(application, question) });
    const pausing = pause();
    if (pausing !== undefined) await pausing;
    // The merge shares what it leaves alone, and objects of the cache must not be changed by what comes next.
    return inSteps(copyJsonSteps(object), pause);
  }

  #request(application: Application): ApplyRequest {
    const { configuration: applied, force, live, manager, toldAs } = application;
    const client = [this.#options.dialect, kubernetesDialect].map(clientSideApply).find((c) => c.manager === manager);
    const request = { ...this.#info(application), applied, force, live: members(live), ...(toldAs && { toldAs }) };
    return client === undefined ? request : { ...request, clientSideApply: client };
  }

  #info({ resource, manager, subresource }: Pick<ManagedWrite, 'resource' | 'manager' | 'subresource'>): WriteInfo {
    const { apiVersion } = resource;
    const { clock, codec } = this.#options;
    const versions = versionsOf(resource, { codec });
    const reset = resetFields(resource, subresource);
    const spoken = { type: resource.type, apiVersion, manager, subresource, reset };
    // Of who scaled 1.24 does not keep when it was.
    const info = subresource === 'scale' ? spoken : { ...spoken, now: clock.now() };
    return versions === undefined ? info : { ...info, versions };
  }
}

async function ask(
  { resource, context }: Asked,
  { objects, apiVersion }: ConversionQuestion,
): Promise<ConversionAnswer> {
  const { conversion } = resource;
  if (conversion?.kind !== 'remote') throw new RangeError(`nobody converts ${resource.apiVersion} to ${apiVersion}`);
  const converted = await conversion.between(objects as unknown as ApiObjectShape[], apiVersion, context.signal);
  return converted as unknown as ConversionAnswer;
}

/**
 * The same for writes that need no conversion but this one. They go on without it, as with 1.24: a webhook that is gone must
 * not keep anybody from writing what is stored. (1.24 forgets all managers then. Those of the version keep what they have,
 * which at worst is a field too much.)
 */
async function askIfPossible(asked: Asked, question: ConversionQuestion): Promise<ConversionAnswer> {
  const { resource, context } = asked;
  try {
    return await ask(asked, question);
  } catch (error) {
    const isStoredSo = resource.apiVersion === resource.stored.apiVersion;
    // Neither does who is gone get an answer, nor who is asked to come again later.
    if (!isStoredSo || context.signal.aborted || statusOf(error)?.code !== 500) throw error;
    warn(context, `managers keep the fields they have in ${question.apiVersion}: ${messageOf(error)}`);
    return undefined;
  }
}

/**
 * Who scales an object of a custom kind manages nothing by it in 1.24, which knows no Scale among the kind's types; who
 * scales another one to nothing neither: a Scale leaves out its zero.
 */
function tracked(
  { resource, subresource, object }: Pick<ManagedWrite, 'resource' | 'subresource' | 'object'>,
  entries: readonly ManagedFieldsEntry[],
): readonly ManagedFieldsEntry[] {
  if (subresource !== 'scale') return entries;
  const { replicas } = (object as { readonly spec?: { readonly replicas?: unknown } }).spec ?? {};
  if (resource.edition === undefined && (replicas ?? 0) !== 0) return entries;
  return entries.filter((entry) => entry.subresource !== subresource);
}

/** Entries of its own: those of the stored object belong to the cache, and plugins may change what they get. */
function setEntries({ metadata }: OwnMetadata, entries: readonly ManagedFieldsEntry[]): void {
  const own = entries.map((entry) => ({ ...entry }));
  if (own.length > 0) metadata.managedFields = own;
  else delete metadata.managedFields;
}

/** The command-line client's name, and the annotation in which it keeps what it applied by itself. */
function clientSideApply(dialect: Dialect): { manager: string; annotation: string } {
  const annotation = dialect.annotations.lastApplied;
  return { annotation, manager: annotation.slice(0, annotation.indexOf('.')) };
}

/** All that is not the status belongs to the object itself. */
const statusAlone = ['spec', 'metadata'];

/** Nothing is stored of what is only asked, and nothing reset. */
const nothing: readonly string[] = [];

/** What endpoints reset in the objects written through them, by group, resource and subresource: where 1.24 resets something else than elsewhere (`GetResetFields` of its strategies). */
const particular: ReadonlyMap<string, Unmanaged> = new Map(
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

/** Undefined for endpoints that reset what all of their name do: the status, `/status` the spec, and others nothing. */
function resetFields({ declaration, edition }: ServedResource, subresource: string): Unmanaged | undefined {
  if (edition !== undefined) return undefined;
  return particular.get(`${declaration.group}/${declaration.resource}/${subresource}`);
}

/** By the stored form, the versions that are stored so: also those that are not served. */
const versionsByStored = oncePer((scheme: Scheme): ReadonlyMap<string, readonly ResourceInfo[]> => {
  const versions = new Map<string, ResourceInfo[]>();
  for (const info of scheme.resources) {
    const { group, version, storedAs, kind } = info.declaration;
    const stored = `${scheme.dialect.apiVersion(storedAs?.group ?? group, storedAs?.version ?? version)}/${kind}`;
    versions.set(stored, [...(versions.get(stored) ?? []), info]);
  }
  return versions;
});

/** Undefined for resources that have no other version. */
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
    // What is merged or taken apart may lack parts that every object of its kind has.
    const { object: whole } = codec.normalize(copyJson(object), { apiVersion: from, kind: stored.kind }, 'Ignore');
    const hub = conversionOf(all, from)?.toStored(whole, codec.scheme) ?? whole;
    const result: ApiObjectShape = conversionOf(all, to)?.fromStored(hub, codec.scheme) ?? hub;
    // The stored form's own name may stand in it still.
    return { ...result, apiVersion: to };
  };
  return { typeOf, convert: (objects, to) => objects.map((object) => converted(object, to)) };
}

function conversionOf(all: readonly ResourceInfo[], apiVersion: string) {
  const info = all.find((one) => one.apiVersion === apiVersion);
  return info === undefined ? undefined : strategyFor(info.declaration).conversion;
}
