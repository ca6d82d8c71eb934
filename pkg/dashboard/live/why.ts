import type { Dialect } from '#apimachinery/dialect.js';
import { RequestedObservations } from '#dashboard/live/observations.js';
import type { Requests } from '#dashboard/live/requests.js';
import type { ApiObject } from '#dashboard/model/api-object.js';
import type { WhyRequest } from '#dashboard/model/messages.js';
import { RequestError } from '#dashboard/model/trouble.js';
import type { Answer } from '#insight/inquiry/finding.js';
import { readTypeOf, why } from '#insight/why.js';

/** Answers why an object is stuck. Throws RequestError where the object cannot be read. */
export async function answerWhy(
  { kind, path, namespace, name }: WhyRequest,
  context: { readonly requests: Requests; readonly dialect: Dialect; readonly nowMs: number },
): Promise<Answer> {
  const { requests, dialect, nowMs } = context;
  const observations = new RequestedObservations(requests, dialect, nowMs);
  const type = readTypeOf(kind);
  // A definition may use the same kind's name in its own group.
  const isKnownPath = type !== undefined && path.includes(`/${type.resource}/`);
  if (!isKnownPath) return why(dialect, observations, kind, (await requests.json<ApiObject>(path)) as never);
  const object = await observations.get(type, name, namespace);
  if (object === undefined) throw new RequestError(404, `${kind} ${name} does not exist`);
  return why(dialect, observations, kind, { ...object, kind });
}
