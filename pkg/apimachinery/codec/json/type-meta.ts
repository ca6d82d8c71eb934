/** What names the kind of an object. Release 1.24 reads it by itself, before it reads the object. */
import { jsonName } from '#apimachinery/errors/go-value.js';
import { NumberLiteral } from '#apimachinery/json-text.js';

/** Go's name of what holds an object's version and kind. */
const versionAndKind =
  'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }';

/**
 * Why the kind of a value cannot be told, in the words of 1.24; undefined where it can. Null is an object without members,
 * which is of the kind that is expected.
 */
export function typeMetaFault(value: unknown): string | undefined {
  if (value === null) return undefined;
  if (typeof value !== 'object' || Array.isArray(value) || value instanceof NumberLiteral) {
    return fault(`json: cannot unmarshal ${jsonName(value)} into Go value of type ${versionAndKind}`);
  }
  const { apiVersion, kind } = value as { readonly apiVersion?: unknown; readonly kind?: unknown };
  if (isName(apiVersion) && isName(kind)) return undefined;
  const name = isName(apiVersion) ? 'kind' : 'apiVersion';
  const wrong = jsonName(isName(apiVersion) ? kind : apiVersion);
  return fault(`json: cannot unmarshal ${wrong} into Go struct field .${name} of type string`);
}

function isName(value: unknown): boolean {
  return typeof value === 'string' || value === undefined || value === null;
}

function fault(reason: string): string {
  return `couldn't get version/kind; json parse error: ${reason}`;
}
