/** Reads the JSON bodies of requests below `/test`. */
import { parseDuration } from '#apimachinery/duration.js';
import { badRequest } from '#apimachinery/errors/status.js';

/** The fields of a JSON object. Throws 400 for other JSON, and for fields that are not `allowed`. */
export function fieldsOf<K extends string>(body: unknown, allowed: readonly K[]): Partial<Record<K, unknown>> {
  if (body === undefined || body === null) return {};
  if (typeof body !== 'object' || Array.isArray(body)) throw badRequest('the body must be a JSON object');
  const unknown = Object.keys(body).filter((name) => !(allowed as readonly string[]).includes(name));
  if (unknown.length > 0) throw badRequest(`unknown fields: ${unknown.join(', ')}; known: ${allowed.join(', ')}`);
  return body as Partial<Record<K, unknown>>;
}

/** Milliseconds of a positive duration of Go (`1h30m`). Throws 400. */
export function durationOf(field: string, value: unknown): number {
  let ms: number | undefined;
  try {
    ms = typeof value === 'string' ? parseDuration(value) : undefined;
  } catch (error) {
    throw badRequest(`${field}: not a duration such as 1h30m: ${JSON.stringify(value)}`, error);
  }
  if (ms === undefined || !(ms >= 0)) throw badRequest(`${field}: must be a positive duration such as 1h30m`);
  return ms;
}
