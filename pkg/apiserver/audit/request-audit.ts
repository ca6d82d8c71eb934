/** The audit events of one request, from its arrival to the end of its response (1.24: `endpoints/filters/audit.go`). */
import { andThen, type MaybePromise } from '#apimachinery/async/steps.js';
import type { Clock } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { internalError, type Status } from '#apimachinery/errors/status.js';
import { toJSONText } from '#apimachinery/json-text.js';
import type { EventFacts, ObjectReference } from '#apiserver/audit/event.js';
import type { AuditMetrics } from '#apiserver/audit/metrics.js';
import { type Level, levels, type Recording, type Stage } from '#apiserver/audit/policy.js';
import { sourcesOf } from '#apiserver/audit/request-origin.js';
import { Captured, type CaptureOptions, responseText } from '#apiserver/audit/response-capture.js';
import type { ApiRequest, ApiResponse, UserInfo } from '#apiserver/http/exchange.js';
import type { AuditTrail } from '#apiserver/http/request-context.js';
import type { RequestInfo } from '#apiserver/http/request-info.js';
import { PartsBody, SeparatedParts } from '#http/server/body.js';

export interface StartedRequest {
  readonly request: ApiRequest;
  readonly info: RequestInfo;
  readonly auditId: string;
  /** Wall-clock time. */
  readonly receivedMs: number;
  /** True if the start of the response is an event of its own. */
  readonly longRunning: boolean;
}

export interface RequestAuditOptions extends Omit<CaptureOptions, 'omitManagedFields'> {
  readonly recording: Recording;
  readonly clock: Clock;
  readonly strict: boolean;
  readonly metrics: AuditMetrics;
  /** Rejects if the event is lost. */
  readonly write: (facts: EventFacts) => Promise<void> | undefined;
}

interface ObjectWithMetadata {
  readonly metadata?:
    | {
        readonly name?: string;
        readonly namespace?: string;
        readonly uid?: string;
        readonly resourceVersion?: string;
      }
    | undefined;
}

/** Limit of annotations of one request; webhooks may add some. */
const maxAnnotations = 500;
const maxUserAgentChars = 1024;

export class RequestAudit implements AuditTrail {
  readonly #started: StartedRequest;
  readonly #user: UserInfo | undefined;
  readonly #options: RequestAuditOptions;
  readonly #annotations: Record<string, string> = {};
  #annotationCount = 0;
  #impersonated: UserInfo | undefined;
  #object: ObjectReference | undefined;
  #requestObject: string | undefined;
  #responseObject: string | undefined;
  #status: Status | undefined;
  #recordsResponse: boolean;
  #completed = false;

  constructor(started: StartedRequest, user: UserInfo | undefined, options: RequestAuditOptions) {
    this.#started = started;
    this.#user = user;
    this.#options = options;
    const { info, longRunning } = started;
    this.#object = info.resourceRequest ? referenceOf(info) : undefined;
    this.#recordsResponse = this.reaches('RequestResponse') && info.resourceRequest && !longRunning;
    if (user?.method !== undefined) this.annotate(methodNote(options.dialect), user.method);
  }

  /** True when the policy records this level. */
  reaches(level: Level): boolean {
    return levels.indexOf(this.#options.recording.level) >= levels.indexOf(level);
  }

  /** Keeps the first value of a key. */
  annotate(key: string, value: string): void {
    if (Object.hasOwn(this.#annotations, key) || this.#annotationCount >= maxAnnotations) return;
    this.#annotationCount += 1;
    this.#annotations[key] = value;
  }

  impersonated(user: UserInfo): void {
    this.#impersonated = user;
  }

  /** Records the object that the client has sent, as decoded. */
  requested(object: ObjectWithMetadata): void {
    const { name, namespace, uid, resourceVersion } = object.metadata ?? {};
    this.#object = { ...this.#object, ...additionalReference({ name, namespace, uid, resourceVersion }, this.#object) };
    if (this.reaches('Request')) this.#requestObject = toJSONText(this.#withoutManagers(object));
  }

  /** Records a patch or options. */
  requestedValue(value: unknown): void {
    if (this.reaches('Request')) this.#requestObject = toJSONText(value);
  }

  /** Records that an extension API server answers; it records the objects itself. */
  passedOn(): void {
    this.#recordsResponse = false;
  }

  /** Fails with 500 in strict mode if the arrival cannot be recorded. */
  received(): MaybePromise<void> {
    const { strict, metrics } = this.#options;
    const writing = this.#record('RequestReceived', this.#started.receivedMs);
    if (writing === undefined) return undefined;
    return writing.catch((error: unknown) => {
      // The sink has counted and logged the failure.
      if (!strict) return;
      metrics.rejected();
      throw internalError(new Error('failed to store audit event', { cause: error }));
    });
  }

  failed({ message, reason, details, code }: Status): void {
    this.#status = {
      metadata: {},
      status: 'Failure',
      ...(message === undefined ? {} : { message }),
      ...(reason === undefined ? {} : { reason }),
      ...(details === undefined ? {} : { details }),
      ...(code === undefined ? {} : { code }),
    };
  }

  unauthenticated(attempted: string): void {
    this.#status = { metadata: {}, message: attempted, code: 401 };
    this.#recordsResponse = false;
  }

  /** Records the only event of an unauthenticated request. */
  refused(response: ApiResponse): MaybePromise<ApiResponse> {
    this.#status = { ...this.#status, metadata: {}, code: response.status };
    return andThen(ignoreFailure(this.#record('ResponseStarted')), () => response);
  }

  /** Records the response; the completion event follows when the body has been sent. */
  answered(response: ApiResponse): MaybePromise<ApiResponse> {
    this.#status = { ...this.#status, metadata: {}, code: response.status };
    const { longRunning } = this.#started;
    const started = longRunning ? ignoreFailure(this.#record('ResponseStarted')) : undefined;
    const { body } = response;
    // The upgraded connection calls `completed`.
    if (response.status === switched) return andThen(started, () => response);
    if (body === undefined || Buffer.isBuffer(body)) {
      if (body !== undefined) this.#recordResponse(new Captured(body), response);
      return andThen(started, () => andThen(ignoreFailure(this.#complete()), () => response));
    }
    const captured = this.#recordsResponse ? new Captured() : undefined;
    const ended = () => {
      if (captured !== undefined) this.#recordResponse(captured, response);
      void ignoreFailure(this.#complete());
    };
    if (body instanceof PartsBody && body.parts instanceof SeparatedParts) {
      // All parts are available already.
      if (captured !== undefined) for (const part of body.parts) captured.add(part);
      ended();
    } else body.follow({ part: captured && ((bytes) => captured.add(bytes)), ended });
    return andThen(started, () => response);
  }

  /** Records the end of an upgraded connection. */
  completed(): void {
    void ignoreFailure(this.#complete());
  }

  #recordResponse(captured: Captured, { headers }: ApiResponse): void {
    const isDeletion = this.#started.info.verb === 'delete' && this.#status?.status === undefined;
    if (!this.#recordsResponse && !isDeletion) return;
    const { dialect, codec, recording } = this.#options;
    const { omitManagedFields } = recording;
    const text = responseText(captured, headers['content-type'], { dialect, codec, omitManagedFields });
    if (text === 'too large') this.annotate(truncatedNote(dialect), 'true');
    if (text === undefined || text === 'too large') return;
    if (isDeletion) this.#recordDeletion(text);
    if (this.#recordsResponse) this.#responseObject = text;
  }

  /** The response to a deletion is a Status if the object no longer exists. */
  #recordDeletion(text: string): void {
    if (text.length > maxStatusChars) return;
    const { kind, status, details, message } = JSON.parse(text) as Status & { readonly kind?: string };
    if (kind !== 'Status') return;
    this.#status = {
      ...this.#status,
      metadata: {},
      ...(status === undefined ? {} : { status }),
      ...(message === undefined ? {} : { message }),
      ...(details === undefined ? {} : { details }),
    };
  }

  #complete(): Promise<void> | undefined {
    if (this.#completed) return undefined;
    this.#completed = true;
    return this.#record('ResponseComplete');
  }

  #record(stage: Stage, stageMs = this.#options.clock.now()): Promise<void> | undefined {
    const { recording, write } = this.#options;
    if (recording.omitStages.has(stage)) return undefined;
    const { request, info, auditId, receivedMs } = this.#started;
    return write({
      level: recording.level,
      auditID: auditId,
      stage,
      requestURI: request.url,
      verb: info.verb,
      user: this.#user,
      impersonatedUser: this.#impersonated,
      sourceIPs: sourcesOf(request),
      userAgent: shortened(request.headers['user-agent'] ?? ''),
      objectRef: this.#object,
      responseStatus: this.#status,
      requestObject: this.#requestObject,
      responseObject: this.#responseObject,
      receivedMs,
      stageMs,
      annotations: { ...this.#annotations },
    });
  }

  #withoutManagers(object: ObjectWithMetadata): object {
    const { codec, recording } = this.#options;
    const shown = codec.shown(object) as ObjectWithMetadata;
    if (!recording.omitManagedFields || shown.metadata === undefined) return shown;
    return { ...shown, metadata: { ...shown.metadata, managedFields: undefined } };
  }
}

const switched = 101;
const maxStatusChars = 16 * 1024;

/** Key of the way in which the user was authenticated; 1.24 does not record it. */
function methodNote(dialect: Dialect): string {
  return `${dialect.groupName('authentication')}/method`;
}

/** 1.24's annotation of events without their objects. */
export function truncatedNote({ apiDomain }: Dialect): string {
  return `audit.${apiDomain}/truncated`;
}

/** Ignores a failure, which the sink has counted and logged. */
function ignoreFailure(writing: Promise<void> | undefined): MaybePromise<void> {
  return writing?.catch(() => undefined);
}

function referenceOf(info: RequestInfo): ObjectReference {
  const { resource, namespace, name, group, version, subresource } = info;
  return {
    resource,
    ...(namespace === '' ? {} : { namespace }),
    ...(name === '' ? {} : { name }),
    ...(group === '' ? {} : { apiGroup: group }),
    ...(version === '' ? {} : { apiVersion: version }),
    ...(subresource === '' ? {} : { subresource }),
  };
}

/** The metadata that the reference lacks. */
function additionalReference(
  metadata: { readonly [Name in 'name' | 'namespace' | 'uid' | 'resourceVersion']: string | undefined },
  reference: ObjectReference | undefined,
): ObjectReference {
  const more: Record<string, string> = {};
  for (const key of ['name', 'namespace', 'uid', 'resourceVersion'] as const) {
    const value = metadata[key];
    if (reference?.[key] === undefined && value !== undefined && value !== '') more[key] = value;
  }
  return more;
}

function shortened(text: string): string {
  return text.length > maxUserAgentChars ? `${text.slice(0, maxUserAgentChars)}...TRUNCATED` : text;
}
