/** What is recorded of one request, from its arrival to the end of its answer (1.24: `endpoints/filters/audit.go`). */

import { andThen, type MaybePromise } from '#apimachinery/async/steps.js';
import type { Clock } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { internalError, type Status } from '#apimachinery/errors/status.js';
import { toJSONText } from '#apimachinery/json-text.js';
import { Captured, type CaptureOptions, responseText } from '#apiserver/audit/captured.js';
import type { EventFacts, ObjectReference } from '#apiserver/audit/event.js';
import type { AuditMetrics } from '#apiserver/audit/metrics.js';
import { type Level, levels, type Recording, type Stage } from '#apiserver/audit/policy.js';
import { sourcesOf } from '#apiserver/audit/sources.js';
import type { AuditTrail } from '#apiserver/http/context.js';
import type { ApiRequest, ApiResponse, UserInfo } from '#apiserver/http/exchange.js';
import type { RequestInfo } from '#apiserver/http/request-info.js';
import { PartsBody, SeparatedParts } from '#http/server/body.js';

export interface StartedRequest {
  readonly request: ApiRequest;
  readonly info: RequestInfo;
  readonly auditId: string;
  /** Wall clock. */
  readonly receivedMs: number;
  /** It may last as long as its client wants: the beginning of its answer is worth an event of its own. */
  readonly longRunning: boolean;
}

export interface RequestAuditOptions extends Omit<CaptureOptions, 'omitManagedFields'> {
  readonly recording: Recording;
  readonly clock: Clock;
  readonly strict: boolean;
  readonly metrics: AuditMetrics;
  /** Rejects where the event is lost. */
  readonly write: (facts: EventFacts) => Promise<void> | undefined;
}

/** Objects as they come from clients and go to them. */
interface Named {
  readonly metadata?:
    | {
        readonly name?: string;
        readonly namespace?: string;
        readonly uid?: string;
        readonly resourceVersion?: string;
      }
    | undefined;
}

/** Of one request; webhooks bring theirs, too. */
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
  #recordsAnswer: boolean;
  #completed = false;

  constructor(started: StartedRequest, user: UserInfo | undefined, options: RequestAuditOptions) {
    this.#started = started;
    this.#user = user;
    this.#options = options;
    const { info, longRunning } = started;
    this.#object = info.resourceRequest ? referenceOf(info) : undefined;
    this.#recordsAnswer = this.reaches('RequestResponse') && info.resourceRequest && !longRunning;
  }

  /** Whether that much is to be recorded. */
  reaches(level: Level): boolean {
    return levels.indexOf(this.#options.recording.level) >= levels.indexOf(level);
  }

  /** The first value of a key stays. */
  annotate(key: string, value: string): void {
    if (Object.hasOwn(this.#annotations, key) || this.#annotationCount >= maxAnnotations) return;
    this.#annotationCount += 1;
    this.#annotations[key] = value;
  }

  impersonated(user: UserInfo): void {
    this.#impersonated = user;
  }

  /** The object that the client has sent, in the form in which it was understood. */
  requested(object: Named): void {
    const { name, namespace, uid, resourceVersion } = object.metadata ?? {};
    this.#object = { ...this.#object, ...named({ name, namespace, uid, resourceVersion }, this.#object) };
    if (this.reaches('Request')) this.#requestObject = toJSONText(this.#withoutManagers(object));
  }

  /** A patch, options: what is no object. */
  requestedValue(value: unknown): void {
    if (this.reaches('Request')) this.#requestObject = toJSONText(value);
  }

  /** Another server answers: what it is sent and what it answers is its own to record. */
  passedOn(): void {
    this.#recordsAnswer = false;
  }

  /** Throws, or rejects with, 500 where the arrival has to be recorded and is not. */
  received(): MaybePromise<void> {
    const { strict, metrics } = this.#options;
    const writing = this.#record('RequestReceived', this.#started.receivedMs);
    if (writing === undefined) return undefined;
    return writing.catch((error: unknown) => {
      // Whoever writes has counted and logged it.
      if (!strict) return;
      metrics.rejected();
      throw internalError(new Error('failed to store audit event', { cause: error }));
    });
  }

  /** The request fails. */
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

  /** Nobody knows who asks. */
  unauthenticated(attempted: string): void {
    this.#status = { metadata: {}, message: attempted, code: 401 };
    this.#recordsAnswer = false;
  }

  /** The request's only event: of one that nobody has authenticated. */
  refused(response: ApiResponse): MaybePromise<ApiResponse> {
    this.#status = { ...this.#status, metadata: {}, code: response.status };
    return andThen(ignored(this.#record('ResponseStarted')), () => response);
  }

  /** The answer, which tells this when it has been given. */
  answered(response: ApiResponse): MaybePromise<ApiResponse> {
    this.#status = { ...this.#status, metadata: {}, code: response.status };
    const { longRunning } = this.#started;
    const begun = longRunning ? ignored(this.#record('ResponseStarted')) : undefined;
    const { body } = response;
    // Who has taken the connection over says when that is over.
    if (response.status === switched) return andThen(begun, () => response);
    if (body === undefined || Buffer.isBuffer(body)) {
      if (body !== undefined) this.#answer(new Captured(body), response);
      return andThen(begun, () => andThen(ignored(this.#complete()), () => response));
    }
    const captured = this.#recordsAnswer ? new Captured() : undefined;
    const ended = () => {
      if (captured !== undefined) this.#answer(captured, response);
      void ignored(this.#complete());
    };
    if (body instanceof PartsBody && body.parts instanceof SeparatedParts) {
      // All that it is made of is there already.
      if (captured !== undefined) for (const part of body.parts) captured.add(part);
      ended();
    } else body.follow({ part: captured && ((bytes) => captured.add(bytes)), ended });
    return andThen(begun, () => response);
  }

  /** The end of what `answered` does not see the end of. */
  completed(): void {
    void ignored(this.#complete());
  }

  #answer(captured: Captured, { headers }: ApiResponse): void {
    const isDeletion = this.#started.info.verb === 'delete' && this.#status?.status === undefined;
    if (!this.#recordsAnswer && !isDeletion) return;
    const { dialect, codec, recording } = this.#options;
    const { omitManagedFields } = recording;
    const text = responseText(captured, headers['content-type'], { dialect, codec, omitManagedFields });
    if (text === 'too large') this.annotate(truncatedNote(dialect), 'true');
    if (text === undefined || text === 'too large') return;
    if (isDeletion) this.#deleted(text);
    if (this.#recordsAnswer) this.#responseObject = text;
  }

  /** Answers to deletions are a Status where the object is gone. */
  #deleted(text: string): void {
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

  #withoutManagers(object: Named): object {
    const { codec, recording } = this.#options;
    const shown = codec.shown(object) as Named;
    if (!recording.omitManagedFields || shown.metadata === undefined) return shown;
    return { ...shown, metadata: { ...shown.metadata, managedFields: undefined } };
  }
}

const switched = 101;
const maxStatusChars = 16 * 1024;

/** In 1.24, too, the note of what is too long for a log. */
export function truncatedNote({ apiDomain }: Dialect): string {
  return `audit.${apiDomain}/truncated`;
}

/** What could not be written is counted and logged by whoever should have written it. */
function ignored(writing: Promise<void> | undefined): MaybePromise<void> {
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

/** What the reference does not say yet. */
function named(
  found: { readonly [Name in 'name' | 'namespace' | 'uid' | 'resourceVersion']: string | undefined },
  known: ObjectReference | undefined,
): ObjectReference {
  const more: Record<string, string> = {};
  for (const key of ['name', 'namespace', 'uid', 'resourceVersion'] as const) {
    const value = found[key];
    if (known?.[key] === undefined && value !== undefined && value !== '') more[key] = value;
  }
  return more;
}

function shortened(text: string): string {
  return text.length > maxUserAgentChars ? `${text.slice(0, maxUserAgentChars)}...TRUNCATED` : text;
}
