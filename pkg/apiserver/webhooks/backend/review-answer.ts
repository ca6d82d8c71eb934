/**
 * Reads the status of a review that a webhook answers. It decides about access, so each field has the right type, or the answer is
 * invalid. The messages are those of 1.24. Pure.
 */
import { typeMetaFault } from '#apimachinery/codec/json/json.js';
import { jsonName } from '#apimachinery/errors/go-value.js';
import { WebhookCallError } from '#apiserver/webhooks/call-error.js';

export interface ReviewKind {
  readonly kind: string;
  readonly apiVersion: string;
}

/** Limit of a name from an answer in a message. */
const maxNameChars = 256;

/**
 * The answer's `status`, empty if it has none. Like in 1.24, kind and version may be missing. Throws WebhookCallError for other
 * kinds and versions.
 */
export function reviewStatus(answer: unknown, expected: ReviewKind): ReviewFields {
  const fault = typeMetaFault(answer);
  if (fault !== undefined) throw invalid(fault);
  const whole = (answer ?? {}) as Fields;
  const kind = textOr(whole, 'kind', expected.kind);
  const apiVersion = textOr(whole, 'apiVersion', expected.apiVersion);
  const version = versionOf(expected.apiVersion);
  if (kind !== expected.kind || apiVersion !== expected.apiVersion) {
    const given = `${versionOf(apiVersion)}.${kind}`.slice(0, maxNameChars);
    throw invalid(`converting (${given}) to (${version}.${expected.kind}): unknown conversion`);
  }
  const review = new ReviewFields(whole, { struct: expected.kind, path: '', version });
  return review.message('status', `${expected.kind}Status`);
}

const versionOf = (apiVersion: string): string => apiVersion.split('/').at(-1) ?? '';

function textOr(fields: Fields, name: string, otherwise: string): string {
  const value = fields[name];
  return typeof value === 'string' && value !== '' ? value : otherwise;
}

type Fields = Readonly<Record<string, unknown>>;

/** Where fields are, as messages name it. */
interface Place {
  /** Go's type of the message. */
  readonly struct: string;
  /** Fields above, each with a dot. */
  readonly path: string;
  readonly version: string;
}

/** The fields of one message of an answer. Missing fields and `null` have their zero value; other types throw WebhookCallError. */
export class ReviewFields {
  readonly #fields: Fields;
  readonly #place: Place;

  constructor(fields: Fields, place: Place) {
    this.#fields = fields;
    this.#place = place;
  }

  text(name: string): string {
    const value = this.#own(name) ?? '';
    if (typeof value !== 'string') throw this.#wrong(name, value, 'string');
    return value;
  }

  flag(name: string): boolean {
    const value = this.#own(name) ?? false;
    if (typeof value !== 'boolean') throw this.#wrong(name, value, 'bool');
    return value;
  }

  texts(name: string): readonly string[] {
    return this.#texts(name, this.#own(name), '[]string');
  }

  message(name: string, struct: string): ReviewFields {
    const value = this.#own(name) ?? {};
    const { path, version } = this.#place;
    if (!isMessage(value)) throw this.#wrong(name, value, `${version}.${struct}`);
    return new ReviewFields(value, { struct, path: `${path}${name}.`, version });
  }

  textMap(name: string): Readonly<Record<string, string>> {
    const value = this.#own(name) ?? {};
    if (!isMessage(value)) throw this.#wrong(name, value, 'map[string]string');
    const entries = Object.entries(value).map(([key, text]): [string, string] => {
      if (typeof text !== 'string' && text !== null) throw this.#wrong(name, text, 'string');
      return [key, text ?? ''];
    });
    return Object.fromEntries(entries);
  }

  /** A map of lists; undefined if it is missing. */
  textLists(name: string): Readonly<Record<string, readonly string[]>> | undefined {
    const value = this.#own(name);
    if (value === undefined) return undefined;
    const { version } = this.#place;
    if (!isMessage(value)) throw this.#wrong(name, value, `map[string]${version}.ExtraValue`);
    const entries = Object.entries(value);
    return Object.fromEntries(entries.map(([key, list]) => [key, this.#texts(name, list, `${version}.ExtraValue`)]));
  }

  #texts(name: string, value: unknown, type: string): readonly string[] {
    if (value === undefined || value === null) return [];
    if (!Array.isArray(value)) throw this.#wrong(name, value, type);
    return value.map((each: unknown) => {
      if (typeof each !== 'string') throw this.#wrong(name, each, 'string');
      return each;
    });
  }

  #own(name: string): unknown {
    return Object.hasOwn(this.#fields, name) ? (this.#fields[name] ?? undefined) : undefined;
  }

  #wrong(name: string, value: unknown, type: string): WebhookCallError {
    const { struct, path } = this.#place;
    const field = `${struct}.${path}${name}`;
    return invalid(`json: cannot unmarshal ${jsonName(value)} into Go struct field ${field} of type ${type}`);
  }
}

function isMessage(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function invalid(message: string): WebhookCallError {
  return new WebhookCallError('invalid', message);
}
