/** Validation expressions in schemas, which exist only while their feature gate is on. */
import { extensionsOf } from '#api/apiextensions/v1/customresourcedefinition/schema-extensions.js';
import { childrenOf } from '#api/apiextensions/v1/customresourcedefinition/schema-validation.js';
import type { CustomResourceDefinition, JSONSchemaProps } from '#api/apiextensions/v1/types.gen.js';
import type { StrategyContext } from '#api/strategy.js';
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
  for (const schema of schemasOf(object)) Reflect.deleteProperty(schema, `${dialect.extensionPrefix}validations`);
}

/** All schemas of all versions, however deep. */
function schemasOf(object: CustomResourceDefinition): JSONSchemaProps[] {
  const found: JSONSchemaProps[] = [];
  const pending = (object.spec.versions ?? []).flatMap((version) => version.schema?.openAPIV3Schema ?? []);
  for (let schema = pending.pop(); schema !== undefined; schema = pending.pop()) {
    found.push(schema);
    pending.push(...childrenOf(schema, FieldPath.of()).map(([child]) => child));
  }
  return found;
}
