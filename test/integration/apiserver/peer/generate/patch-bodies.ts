/** The same change as a patch of each type. */
import type { TypeInfo } from '#apimachinery/schema/type-info.js';
import { type FieldPlace, valueAt } from '#test/integration/apiserver/peer/generate/fields.js';
import type { JsonObject, PatchType } from '#test/integration/apiserver/peer/generate/kind.js';

interface Change {
  readonly type: TypeInfo;
  readonly before: JsonObject;
  /** With the change applied. */
  readonly after: JsonObject;
  readonly path: FieldPlace['path'];
}

/** Body of a patch that turns `before` into `after` at `path`, as far as its type can express it. Pure. */
export function patchBody(change: Change, patchType: PatchType): unknown {
  switch (patchType) {
    case 'json':
      return jsonPatch(change);
    case 'merge':
      return nested(change, () => undefined);
    default:
      return nested(change, (key) => key);
  }
}

/** Adds the first missing part of the path. */
function jsonPatch({ before, after, path }: Change): unknown {
  const missing = path.findIndex((_, i) => valueAt(before, path.slice(0, i + 1)) === undefined);
  const place = missing === -1 ? path : path.slice(0, missing + 1);
  const value = valueAt(after, place);
  const pointer = place.map((step) => `/${String(step).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
  if (value === undefined) return [{ op: 'remove', path: pointer }];
  return [{ op: missing === -1 ? 'replace' : 'add', path: pointer, value }];
}

/** Only the members on the path; whole lists, unless their elements have a merge key. */
function nested({ type, after, path }: Change, keyFor: (key: string | undefined) => string | undefined): unknown {
  const [name = '', ...rest] = path;
  const value = after[name] ?? null;
  if (rest.length === 0) return { [name]: value };
  const field = type.byName.get(String(name));
  if (field?.type === undefined) return { [name]: value };
  if (field.container === 'single') {
    return { [name]: nested({ type: field.type, before: {}, after: value as JsonObject, path: rest }, keyFor) };
  }
  const [step = 0, ...inner] = rest;
  const element = Reflect.get(value as object, step) as JsonObject;
  if (field.container === 'map') {
    if (inner.length === 0) return { [name]: { [step]: element } };
    return { [name]: { [step]: nested({ type: field.type, before: {}, after: element, path: inner }, keyFor) } };
  }
  const key = keyFor(field.patchMergeKey);
  if (key === undefined || inner.length === 0) return { [name]: value };
  const part = nested({ type: field.type, before: {}, after: element, path: inner }, keyFor) as JsonObject;
  return { [name]: [{ ...(element[key] === undefined ? {} : { [key]: element[key] }), ...part }] };
}
