import { Structural } from '#api/apiextensions/v1/structural/structural.js';
import { FieldPath } from '#apimachinery/validation/path.js';

export interface MemberWithin {
  readonly member: object;
  readonly schema: Structural;
  readonly path: FieldPath;
}

/** The members of an object that are objects or lists and have a schema of their own. `path`: of the object; absent: the root. */
export function* membersWithin(
  object: Readonly<Record<string, unknown>>,
  schema: Structural,
  path: FieldPath | undefined,
): Generator<MemberWithin> {
  for (const name in object) {
    const member = object[name];
    if (typeof member !== 'object' || member === null) continue;
    const known = schema.member(name);
    if (!(known instanceof Structural)) continue;
    const isKey = !schema.properties.has(name);
    const at = path === undefined ? FieldPath.of(name) : isKey ? path.key(name) : path.child(name);
    yield { member, schema: known, path: at };
  }
}
