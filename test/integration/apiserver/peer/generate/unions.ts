/** Fields that exclude each other, as declared by the kinds. */
import { groupVersions } from '#api/scheme.gen.js';
import { typePrefix } from '#apimachinery/schema/compile.js';
import type { Unions } from '#test/integration/apiserver/peer/generate/plausible.js';

export function declaredUnions(): Unions {
  const unions = new Map<string, readonly string[]>();
  for (const version of groupVersions) {
    for (const { types } of version.kinds) {
      for (const [name, { union }] of Object.entries(types)) {
        if (union !== undefined) unions.set(`${typePrefix(version)}.${name}`, union);
      }
    }
  }
  return unions;
}
