/** Formats typed values in messages: the Go syntax of 1.24's in-memory form. */
import { goFieldsOf } from '#api/go/go-fields.js';
import { goTypes } from '#api/go/go-types.js';
import { declaration as intstr } from '#api/intstr/shared.js';
import { declaration as meta } from '#api/meta/v1/shared.js';
import { declaration as resource } from '#api/resource/shared.js';
import { oncePer } from '#apimachinery/memo/once-per.js';
import { compileTypes } from '#apimachinery/schema/compile.js';
import type { GroupVersionDeclaration, KindDeclaration } from '#apimachinery/schema/schema.js';
import type { TypeInfo } from '#apimachinery/schema/type-info.js';
import { quantitySyntax } from '#apimachinery/spew/quantity.js';
import { goFieldSyntax, goTypeSyntax } from '#apimachinery/spew/syntax.js';
import { GoValue } from '#apimachinery/validation/failure.js';

/** Values of metadata types. */
export const metaValues = goValuesOf('meta', 'v1', []);

const shared: readonly GroupVersionDeclaration[] = [
  { group: 'meta', version: 'v1', kinds: [meta] },
  { group: 'resource', version: '', kinds: [resource] },
  { group: 'intstr', version: '', kinds: [intstr] },
];

/** Compiled on first use: most servers never format one. */
const typesOf = oncePer((own: GroupVersionDeclaration) => compileTypes([own, ...shared], '', goTypes));

/** Values of a group's types, formatted on demand. */
export interface GoValues {
  /** `core.PodIP{IP:"x"}`. */
  of(type: string, value: object): GoValue;
  /** A field's value: `[]core.PodIP(nil)`, `core.ResourceList{}`. */
  member(type: string, name: string, value: unknown): GoValue;
}

/** @param kinds Declarations of all referenced types. */
export function goValuesOf(
  group: GroupVersionDeclaration['group'],
  version: string,
  kinds: readonly KindDeclaration[],
): GoValues {
  const own: GroupVersionDeclaration = { group, version, kinds };
  const typeOf = (name: string): TypeInfo => {
    const type = typesOf(own).get(`${group}.${version}.${name}`);
    if (type === undefined) throw new RangeError(`no such type: ${name}`);
    return type;
  };
  return {
    of: (type, value) => new GoValue(() => goTypeSyntax(typeOf(type), value, goFieldsOf)),
    member: (type, name, value) =>
      new GoValue(() => {
        const parent = typeOf(type);
        const field = parent.byName.get(name);
        if (field === undefined) throw new RangeError(`${type} has no ${name}`);
        return goFieldSyntax(parent, field, value, goFieldsOf);
      }),
  };
}

/** A quantity: `resource.Quantity{…}`. */
export function goQuantityValue(text: string): GoValue {
  return new GoValue(() => quantitySyntax(text));
}
