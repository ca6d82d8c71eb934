/** Reads the status of a review that a webhook answers: it decides about access, so each field has the right type or the answer is invalid. Pure. */
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
  const whole = new ReviewFields(answer, expected.kind);
  const kind = whole.text('kind') || expected.kind;
  const apiVersion = whole.text('apiVersion') || expected.apiVersion;
  if (kind !== expected.kind || groupOf(apiVersion) !== groupOf(expected.apiVersion)) {
    const [shownKind, shownVersion] = [kind, apiVersion].map((text) => JSON.stringify(text.slice(0, maxNameChars)));
    throw invalid(`no kind ${shownKind} is registered for version ${shownVersion}`);
  }
  if (apiVersion !== expected.apiVersion) {
    const type = (version: string) => `(${versionOf(version).slice(0, maxNameChars)}.${kind})`;
    throw invalid(`converting ${type(apiVersion)} to ${type(expected.apiVersion)}: unknown conversion`);
  }
  return whole.message('status');
}

const groupOf = (apiVersion: string): string => apiVersion.split('/').slice(0, -1).join('/');
const versionOf = (apiVersion: string): string => apiVersion.split('/').at(-1) ?? '';

/** The fields of one message of an answer. Missing fields and `null` have their zero value; other types throw WebhookCallError. */
export class ReviewFields {
  readonly #fields: Readonly<Record<string, unknown>>;
  readonly #path: string;

  constructor(value: unknown, path: string) {
    if (!isMessage(value)) throw wrongType(value, path, 'message');
    this.#fields = value;
    this.#path = path;
  }

  text(name: string): string {
    const value = this.#own(name) ?? '';
    if (typeof value !== 'string') throw wrongType(value, this.#at(name), 'string');
    return value;
  }

  flag(name: string): boolean {
    const value = this.#own(name) ?? false;
    if (typeof value !== 'boolean') throw wrongType(value, this.#at(name), 'bool');
    return value;
  }

  texts(name: string): readonly string[] {
    return textsOf(this.#own(name), this.#at(name));
  }

  message(name: string): ReviewFields {
    return new ReviewFields(this.#own(name) ?? {}, this.#at(name));
  }

  textMap(name: string): Readonly<Record<string, string>> {
    const value = this.#own(name) ?? {};
    if (!isMessage(value)) throw wrongType(value, this.#at(name), 'map');
    return Object.fromEntries(
      Object.keys(value).map((key) => [key, new ReviewFields(value, this.#at(name)).text(key)]),
    );
  }

  /** A map of lists; undefined if it is missing. */
  textLists(name: string): Readonly<Record<string, readonly string[]>> | undefined {
    const value = this.#own(name);
    if (value === undefined) return undefined;
    if (!isMessage(value)) throw wrongType(value, this.#at(name), 'map');
    return Object.fromEntries(Object.entries(value).map(([key, list]) => [key, textsOf(list, this.#at(name))]));
  }

  #own(name: string): unknown {
    return Object.hasOwn(this.#fields, name) ? (this.#fields[name] ?? undefined) : undefined;
  }

  #at(name: string): string {
    return `${this.#path}.${name}`;
  }
}

function isMessage(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function textsOf(value: unknown, path: string): readonly string[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw wrongType(value, path, 'list of strings');
  return value.map((each: unknown) => {
    if (typeof each !== 'string') throw wrongType(each, path, 'string');
    return each;
  });
}

function wrongType(value: unknown, path: string, type: string): WebhookCallError {
  const given = value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value;
  return invalid(`the answer's ${path} is of type ${given} instead of ${type}`);
}

function invalid(message: string): WebhookCallError {
  return new WebhookCallError('invalid', message);
}
