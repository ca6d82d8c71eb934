/** Validation expressions in schemas, which exist only while their feature gate is on. */

import { childrenOf } from '#api/apiextensions/v1/customresourcedefinition/schema-validation.js';
import { extensionsOf } from '#api/apiextensions/v1/structural/schema-extensions.js';
import type { CustomResourceDefinition, JSONSchemaProps } from '#api/apiextensions/v1/types.gen.js';
import type { StrategyContext } from '#api/strategy/strategy.js';
import { tooMany } from '#apimachinery/codec/json/size-limit.js';
import { FieldPath } from '#apimachinery/validation/path.js';

/** Removes the expressions in place while the gate is off, unless the stored definition has some. */
export function dropDisabledValidations(
  object: CustomResourceDefinition,
  old: CustomResourceDefinition | undefined,
  { dialect, gate }: StrategyContext,
): void {
  if (gate('CustomResourceValidationExpressions')) return;
  if (old !== undefined && schemasOf(old).some((schema) => extensionsOf(schema, dialect).validations.length > 0))
    return;
  const member = `${dialect.extensionPrefix}validations`;
  // To delete what is not there takes long, too.
  for (const schema of schemasOf(object)) if (Object.hasOwn(schema, member)) Reflect.deleteProperty(schema, member);
}

/** Each takes at least fifty bytes in a store of 1.24, and its managers as many again: 1.5 MB hold fewer. */
const maxSchemas = 32_000;

/** All schemas of all versions, however deep. Throws 413 for more than any definition has. */
function schemasOf(object: CustomResourceDefinition): JSONSchemaProps[] {
  const found: JSONSchemaProps[] = [];
  const pending = (object.spec.versions ?? []).flatMap((version) => version.schema?.openAPIV3Schema ?? []);
  for (let schema = pending.pop(); schema !== undefined; schema = pending.pop()) {
    found.push(schema);
    if (found.length > maxSchemas) throw tooMany('schemas', maxSchemas);
    for (const [child] of childrenOf(schema, FieldPath.of())) pending.push(child);
  }
  return found;
}
