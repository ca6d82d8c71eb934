/**
 * Admission reviews sent to webhooks, and their answers, as JSON (`AdmissionReview` of `admission.…/v1` and `v1beta1`). Pure.
 */

import type { ReviewVersion } from '#api/admissionregistration/v1/webhook/review-versions.js';
import type { ApiObjectShape } from '#api/meta/object.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { Status } from '#apimachinery/errors/status.js';
import { toJSONText } from '#apimachinery/json-text.js';
import type { AdmissionOperation } from '#apiserver/admission/admission.js';
import type { ResourceName } from '#apiserver/admission/webhook/rules.js';
import type { UserInfo } from '#apiserver/http/exchange.js';
import type { TypeRef } from '#apiserver/resources/codec.js';
import { kindText, textOf } from '#apiserver/webhooks/review.js';

export interface Question {
  readonly uid: string;
  /** The kind and resource as the webhook sees them. */
  readonly kind: TypeRef;
  readonly resource: ResourceName;
  /** The kind and resource as the client sent them. */
  readonly requestKind: TypeRef;
  readonly requestResource: ResourceName;
  readonly subresource: string;
  readonly name: string;
  readonly namespace: string;
  readonly operation: AdmissionOperation;
  readonly user: UserInfo;
  readonly dryRun: boolean;
  /** JSON texts; `null` for none. */
  readonly object: string;
  readonly oldObject: string;
  readonly options: string;
}

export function reviewText(dialect: Dialect, version: ReviewVersion, question: Question): string {
  const { uid, kind, resource, requestKind, requestResource, subresource, name, namespace, user } = question;
  const request = {
    uid,
    kind: kindOf(kind),
    resource,
    ...(subresource === '' ? {} : { subResource: subresource }),
    requestKind: kindOf(requestKind),
    requestResource,
    ...(subresource === '' ? {} : { requestSubResource: subresource }),
    ...(name === '' ? {} : { name }),
    ...(namespace === '' ? {} : { namespace }),
    operation: question.operation,
    userInfo: {
      username: user.name,
      ...(user.uid === undefined || user.uid === '' ? {} : { uid: user.uid }),
      ...(user.groups.length === 0 ? {} : { groups: user.groups }),
      ...(user.extra === undefined || Object.keys(user.extra).length === 0 ? {} : { extra: user.extra }),
    },
  };
  // The objects are JSON already.
  const head = toJSONText(request).slice(0, -1);
  const { object, oldObject, dryRun, options } = question;
  const body = `${head},"object":${object},"oldObject":${oldObject},"dryRun":${dryRun},"options":${options}}`;
  return `{"kind":"AdmissionReview","apiVersion":"${dialect.apiVersion('admission', version)}","request":${body}}`;
}

function kindOf({ apiVersion, kind }: TypeRef): { group: string; version: string; kind: string } {
  const at = apiVersion.indexOf('/');
  return { group: at < 0 ? '' : apiVersion.slice(0, at), version: apiVersion.slice(at + 1), kind };
}

export interface Answer {
  readonly allowed: boolean;
  /** The reason of a denial. */
  readonly status?: Status;
  /** JSON text of a JSON patch. */
  readonly patch?: Buffer;
  readonly warnings: readonly string[];
  readonly auditAnnotations: Readonly<Record<string, string>>;
}

/** Limits per answer; excess entries are dropped. */
const maxWarnings = 50;
const maxAnnotations = 50;
const maxAnnotationChars = 4096;

export interface Expected {
  readonly dialect: Dialect;
  readonly version: ReviewVersion;
  readonly uid: string;
  /** Only mutating webhooks may send a patch. */
  readonly mutating: boolean;
}

/** Parses an arbitrary answer. Throws an Error in 1.24's words if it is invalid. */
export function readAnswer(value: unknown, { dialect, version, uid, mutating }: Expected): Answer {
  const review = objectOf(value);
  if (review === undefined) throw new Error('the answer is not a JSON object');
  const expected = { apiVersion: dialect.apiVersion('admission', version), kind: 'AdmissionReview' };
  const { apiVersion = '', kind = '' } = review;
  const isReview = apiVersion === expected.apiVersion && kind === expected.kind;
  // Answers of v1beta1 may omit their kind.
  if (!isReview && !(version === 'v1beta1' && apiVersion === '' && kind === '')) {
    throw new Error(
      `expected webhook response of ${kindText(expected.apiVersion, expected.kind)}, got ${kindText(apiVersion, kind)}`,
    );
  }
  const response = objectOf(review['response']);
  if (response === undefined) throw new Error('webhook response was absent');
  if (version === 'v1' && response['uid'] !== uid) {
    throw new Error(`expected response.uid=${JSON.stringify(uid)}, got ${JSON.stringify(textOf(response['uid']))}`);
  }
  const { allowed } = response;
  if (typeof allowed !== 'boolean' && allowed !== undefined) throw new Error('response.allowed is not a boolean');
  const patch = patchOf(response, version, mutating);
  const status = objectOf(response['status']);
  return {
    allowed: allowed === true,
    ...(status === undefined ? {} : { status: statusFrom(status) }),
    ...(patch === undefined ? {} : { patch }),
    warnings: textsOf(response['warnings']),
    auditAnnotations: annotationsOf(response['auditAnnotations']),
  };
}

function patchOf(response: Members, version: ReviewVersion, mutating: boolean): Buffer | undefined {
  const { patch = '', patchType } = response;
  if (typeof patch !== 'string') throw new Error('response.patch is not a text in base64');
  const present = patch !== '';
  const typed = patchType !== undefined && patchType !== null;
  if (version === 'v1' && !mutating) {
    if (present) throw new Error('validating webhook may not return response.patch');
    if (typed) throw new Error('validating webhook may not return response.patchType');
  }
  if (!mutating) return undefined;
  if (version === 'v1') {
    if (present && !typed) throw new Error('webhook returned response.patch but not response.patchType');
    if (!present && typed) throw new Error('webhook returned response.patchType but not response.patch');
    if (typed && patchType !== 'JSONPatch') {
      throw new Error(`webhook returned invalid response.patchType of ${JSON.stringify(textOf(patchType))}`);
    }
  }
  return present ? Buffer.from(patch, 'base64') : undefined;
}

type Members = Readonly<Record<string, unknown>>;

function objectOf(value: unknown): Members | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Members) : undefined;
}

function textsOf(value: unknown): string[] {
  if (!Array.isArray(value)) return [];
  return value.slice(0, maxWarnings).filter((each): each is string => typeof each === 'string');
}

function annotationsOf(value: unknown): Record<string, string> {
  const members = objectOf(value);
  if (members === undefined) return {};
  const annotations: [string, string][] = [];
  for (const name in members) {
    const text = members[name];
    if (annotations.length === maxAnnotations) break;
    if (typeof text === 'string') annotations.push([name.slice(0, 256), text.slice(0, maxAnnotationChars)]);
  }
  return Object.fromEntries(annotations);
}

const maxMessageChars = 64 * 1024;
const maxCauses = 100;

/** The valid members of a Status, truncated. */
function statusFrom(members: Members): Status {
  const { message, reason, code, status } = members;
  const details = objectOf(members['details']);
  return {
    ...(typeof message === 'string' ? { message: message.slice(0, maxMessageChars) } : {}),
    ...(typeof reason === 'string' ? { reason: reason.slice(0, 256) } : {}),
    ...(typeof code === 'number' && Number.isInteger(code) ? { code } : {}),
    ...(status === 'Success' || status === 'Failure' ? { status } : {}),
    ...(details === undefined ? {} : { details: detailsFrom(details) }),
  };
}

function detailsFrom(details: Members): NonNullable<Status['details']> {
  const { retryAfterSeconds: seconds, causes } = details;
  return {
    ...textMembers(details, ['name', 'group', 'kind', 'uid']),
    ...(typeof seconds === 'number' && Number.isInteger(seconds) && seconds > 0 ? { retryAfterSeconds: seconds } : {}),
    ...(Array.isArray(causes)
      ? {
          causes: causes.slice(0, maxCauses).flatMap((cause: unknown) => {
            const members = objectOf(cause);
            return members === undefined ? [] : [textMembers(members, ['reason', 'message', 'field'])];
          }),
        }
      : {}),
  };
}

function textMembers<K extends string>(members: Members, names: readonly K[]): Partial<Record<K, string>> {
  const texts: Partial<Record<K, string>> = {};
  for (const name of names) {
    const value = members[name];
    if (typeof value === 'string') texts[name] = value.slice(0, maxMessageChars);
  }
  return texts;
}

/** An object as JSON, as clients see it; `null` for none. */
export function jsonText(shown: (object: object) => object, object: ApiObjectShape | undefined): string {
  return object === undefined ? 'null' : toJSONText(shown(object));
}
