/** API errors: every failure is a metav1.Status that can be thrown. */
import { messageOf } from '#apimachinery/errors/message.js';
import { cut } from '#apimachinery/errors/message-values.js';

export interface StatusCause {
  reason?: string;
  message?: string;
  field?: string;
}

export interface StatusDetails {
  name?: string;
  group?: string;
  kind?: string;
  uid?: string;
  causes?: StatusCause[];
  retryAfterSeconds?: number;
}

export interface Status {
  kind?: 'Status';
  apiVersion?: 'v1';
  metadata?: { resourceVersion?: string; continue?: string; remainingItemCount?: number };
  status?: 'Success' | 'Failure';
  message?: string;
  reason?: string;
  details?: StatusDetails;
  code?: number;
}

/** Reasons of release 1.24 (metav1.StatusReason). */
export type StatusReason =
  | 'Unauthorized'
  | 'Forbidden'
  | 'NotFound'
  | 'AlreadyExists'
  | 'Conflict'
  | 'Gone'
  | 'Invalid'
  | 'ServerTimeout'
  | 'Timeout'
  | 'TooManyRequests'
  | 'BadRequest'
  | 'MethodNotAllowed'
  | 'NotAcceptable'
  | 'RequestEntityTooLarge'
  | 'UnsupportedMediaType'
  | 'InternalError'
  | 'Expired'
  | 'ServiceUnavailable'
  | '';

export class StatusError extends Error {
  override readonly name = 'StatusError';
  readonly status: Status;

  constructor(status: Status, options?: { cause?: unknown }) {
    super(status.message ?? status.reason ?? 'unknown failure', options);
    this.status = status;
  }

  get code(): number {
    return this.status.code ?? 500;
  }

  get reason(): string {
    return this.status.reason ?? '';
  }
}

/** The subject of an error: the group's name on the wire (empty for core) and the resource's plural or kind. */
export interface Qualified {
  group: string;
  resource: string;
}

/** The name of a resource in messages: `pods`, `deployments.apps`. */
function qualifiedName(q: Qualified): string {
  return q.group === '' ? q.resource : `${q.resource}.${q.group}`;
}

/** Messages are truncated, because they may quote client input of any size. */
const maxMessageChars = 1024 * 1024;

function failure(
  code: number,
  reason: StatusReason,
  message: string,
  details?: StatusDetails,
  cause?: unknown,
): StatusError {
  const status: Status = {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message: cut(message, maxMessageChars),
    reason,
  };
  if (details !== undefined) status.details = details;
  status.code = code;
  return new StatusError(status, cause === undefined ? undefined : { cause });
}

function detailsOf(q: Qualified, name: string): StatusDetails {
  const details: StatusDetails = {};
  if (name !== '') details.name = name;
  if (q.group !== '') details.group = q.group;
  details.kind = q.resource;
  return details;
}

/** 404 NotFound. */
export function notFound(q: Qualified, name: string): StatusError {
  return failure(404, 'NotFound', `${qualifiedName(q)} "${name}" not found`, detailsOf(q, name));
}

const noSuchPath = 'the server could not find the requested resource';

/** 404 for a path that no handler serves. */
export function pathNotFound(): StatusError {
  return failure(404, 'NotFound', noSuchPath, {});
}

export function isPathNotFound(error: unknown): boolean {
  const status = statusOf(error);
  return status?.code === 404 && status.message === noSuchPath;
}

/** 409 AlreadyExists. */
export function alreadyExists(q: Qualified, name: string): StatusError {
  return failure(409, 'AlreadyExists', `${qualifiedName(q)} "${name}" already exists`, detailsOf(q, name));
}

/** 409 Conflict; `why` is the sentence after the colon. */
export function conflict(q: Qualified, name: string, why: string): StatusError {
  return failure(
    409,
    'Conflict',
    `Operation cannot be fulfilled on ${qualifiedName(q)} "${name}": ${why}`,
    detailsOf(q, name),
  );
}

/** Message of the conflict for a stale resourceVersion. */
export const optimisticLockMessage =
  'the object has been modified; please apply your changes to the latest version and try again';

/** 409 Conflict of server-side apply, one cause per field owned by another manager. */
export function applyConflict(causes: StatusCause[], message: string): StatusError {
  return failure(409, 'Conflict', message, { causes });
}

/** 401 Unauthorized. */
export function unauthorized(message = 'Unauthorized'): StatusError {
  return failure(401, 'Unauthorized', message);
}

/** 403 Forbidden; `why` is the part after the colon. */
export function forbidden(q: Qualified, name: string, why: string): StatusError {
  const subject = q.resource === '' ? `forbidden: ${why}` : `${qualifiedName(q)} "${name}" is forbidden: ${why}`;
  const message = q.resource !== '' && name === '' ? `${qualifiedName(q)} is forbidden: ${why}` : subject;
  return failure(403, 'Forbidden', message, detailsOf(q, name));
}

/** 400 BadRequest. */
export function badRequest(message: string, cause?: unknown): StatusError {
  return failure(400, 'BadRequest', message, undefined, cause);
}

/** A field that failed validation, see `pkg/apimachinery/validation`. */
export interface FieldFailure {
  field: string;
  /** FieldValueRequired, FieldValueInvalid, … */
  reason: string;
  /** The message without the path: `Invalid value: "x": must be …`. */
  message: string;
}

/** Maximum number of failures in one Status, and of characters in all of them; further failures are only counted. */
export const maxFailures = 1000;
const maxFailureChars = 256 * 1024;
/** Maximum characters of a field's path or an object's name. */
const maxPlaceChars = 2048;

/** 422 Invalid with all failures, or the first ones if there are too many. `kind` and `group`: those of the object. */
export function invalid(
  kind: { group: string; kind: string },
  name: string,
  failures: readonly FieldFailure[],
): StatusError {
  const causes: StatusCause[] = [];
  const texts = new Set<string>();
  let left = maxFailureChars;
  for (const { field: path, reason, message } of failures) {
    const field = cut(path, maxPlaceChars);
    causes.push({ reason, message, field });
    texts.add(`${field}: ${message}`);
    left -= field.length + message.length;
    if (left <= 0 || causes.length === maxFailures) break;
  }
  const more = failures.length - causes.length;
  if (more > 0) texts.add(`… and ${more} more`);
  const body = texts.size === 1 ? [...texts].join('') : `[${[...texts].join(', ')}]`;
  const title = kind.group === '' ? kind.kind : `${kind.kind}.${kind.group}`;
  const details: StatusDetails = {};
  const shownName = cut(name, maxPlaceChars);
  if (name !== '') details.name = shownName;
  if (kind.group !== '') details.group = kind.group;
  if (kind.kind !== '') details.kind = kind.kind;
  details.causes = causes;
  return failure(422, 'Invalid', `${title} "${shownName}" is invalid: ${body}`, details);
}

/**
 * 422 Invalid for a well-formed request that cannot be carried out, such as a patch that does not apply. Like 1.24,
 * hides the reason from clients: `why` is the error's cause.
 */
export function unprocessable(why: string): StatusError {
  return failure(422, 'Invalid', 'the server rejected our request due to an error in our request', {}, why);
}

/** 405 MethodNotAllowed. */
export function methodNotAllowed(q: Qualified, action: string): StatusError {
  return failure(
    405,
    'MethodNotAllowed',
    `${action} is not supported on resources of kind "${qualifiedName(q)}"`,
    detailsOf(q, ''),
  );
}

/** 406 NotAcceptable. */
export function notAcceptable(accepted: string[]): StatusError {
  return notAcceptableAs(`only the following media types are accepted: ${accepted.join(', ')}`);
}

/** 406 NotAcceptable with a custom message. */
export function notAcceptableAs(message: string): StatusError {
  return failure(406, 'NotAcceptable', message);
}

/** 415 UnsupportedMediaType. */
export function unsupportedMediaType(accepted: string[]): StatusError {
  return failure(
    415,
    'UnsupportedMediaType',
    `the body of the request was in an unknown format - accepted media types include: ${accepted.join(', ')}`,
  );
}

/** 413 RequestEntityTooLarge. */
export function requestEntityTooLarge(message: string): StatusError {
  return failure(413, 'RequestEntityTooLarge', `Request entity too large: ${message}`);
}

/** 410 Expired: a resource version or continue token older than the kept history. */
export function expired(message: string, next?: { continue?: string; resourceVersion?: string }): StatusError {
  const error = failure(410, 'Expired', message);
  if (next !== undefined) error.status.metadata = next;
  return error;
}

/** 504 Timeout: a resource version that this server has not reached. */
export function tooLargeResourceVersion(requested: bigint, current: bigint, retryAfterSeconds = 1): StatusError {
  return failure(504, 'Timeout', `Timeout: Too large resource version: ${requested}, current: ${current}`, {
    causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
    retryAfterSeconds,
  });
}

/** 504 Timeout of a request that ran out of time. */
export function timeout(message: string, retryAfterSeconds = 0): StatusError {
  return failure(504, 'Timeout', `Timeout: ${message}`, retryAfterSeconds > 0 ? { retryAfterSeconds } : {});
}

/** 408 Timeout: the request did not arrive in time. */
export function requestTimeout(message: string): StatusError {
  return failure(408, 'Timeout', `Timeout: ${message}`);
}

/** 500 ServerTimeout: the operation could not be completed at this time. */
export function serverTimeout(q: Qualified, operation: string, retryAfterSeconds: number): StatusError {
  return failure(
    500,
    'ServerTimeout',
    `The ${operation} operation against ${qualifiedName(q)} could not be completed at this time, please try again.`,
    { ...detailsOf(q, operation), retryAfterSeconds },
  );
}

/** 429 TooManyRequests; without a time, clients retry when they like. */
export function tooManyRequests(message: string, retryAfterSeconds?: number): StatusError {
  return failure(429, 'TooManyRequests', message, retryAfterSeconds === undefined ? undefined : { retryAfterSeconds });
}

/** 503 ServiceUnavailable. */
export function serviceUnavailable(message: string, retryAfterSeconds = 1): StatusError {
  return failure(503, 'ServiceUnavailable', message, { retryAfterSeconds });
}

/** 500 InternalError. The cause goes to the log; its message to the client, as in 1.24. */
export function internalError(cause: unknown): StatusError {
  const message = messageOf(cause);
  return failure(500, 'InternalError', `Internal error occurred: ${message}`, { causes: [{ message }] }, cause);
}

/**
 * 500 without a reason: the answer of 1.24 if a part of it fails with an error that is not a Status, even if the client
 * is at fault (apiserver/pkg/endpoints/handlers/responsewriters/status.go).
 */
export function unclassified(message: string, cause?: unknown): StatusError {
  const { reason: _, ...status } = failure(500, '', message).status;
  return new StatusError(status, cause === undefined ? undefined : { cause });
}

/** True for a StatusError with that reason, even from another copy of this module. */
export function hasReason(error: unknown, reason: StatusReason): boolean {
  return statusOf(error)?.reason === reason;
}

export const isNotFound = (error: unknown): boolean => hasReason(error, 'NotFound');
export const isAlreadyExists = (error: unknown): boolean => hasReason(error, 'AlreadyExists');
export const isConflict = (error: unknown): boolean => hasReason(error, 'Conflict');
export const isInvalid = (error: unknown): boolean => hasReason(error, 'Invalid');
export const isExpired = (error: unknown): boolean => hasReason(error, 'Expired') || hasReason(error, 'Gone');

/** The Status of an error; undefined if it has none. */
export function statusOf(error: unknown): Status | undefined {
  if (typeof error !== 'object' || error === null || !('status' in error)) return undefined;
  const status = error.status;
  return typeof status === 'object' && status !== null ? (status as Status) : undefined;
}
