/** Rules of the validation expressions in a schema. */

import type { RuleCosts } from '#api/apiextensions/v1/customresourcedefinition/rule-costs.js';
import { type CompiledRule, compileRules } from '#api/apiextensions/v1/expressions/rules.js';
import { extensionsOf } from '#api/apiextensions/v1/structural/schema-extensions.js';
import { Structural } from '#api/apiextensions/v1/structural/structural.js';
import type { JSONSchemaProps, ValidationRule } from '#api/apiextensions/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { addAll, invalidValue, required } from '#apimachinery/validation/failure.js';
import type { FieldPath } from '#apimachinery/validation/path.js';

export interface ExpressionPlace {
  /** Path of the schema. */
  readonly path: FieldPath;
  readonly root: boolean;
  /** The enclosing schema that prevents finding the previous value of an element. */
  readonly uncorrelatable?: FieldPath | undefined;
  /** Maximum number of values of the schema per object; undefined: unlimited. */
  readonly cardinality: number | undefined;
}

export function validateExpressions(
  schema: JSONSchemaProps,
  place: ExpressionPlace,
  { dialect, costs }: { readonly dialect: Dialect; readonly costs: RuleCosts },
): FieldFailure[] {
  const { validations } = extensionsOf(schema, dialect);
  if (validations.length === 0) return [];
  const path = place.path.child(`${dialect.extensionPrefix}validations`);
  const failures = validations.flatMap((rule, i) => validateTexts(rule, path.index(i)));
  const compiled = compileRules(new Structural(schema, dialect), place.root);
  compiled.forEach((rule, i) => {
    const at = path.index(i).child('rule');
    addAll(failures, costs.observe(rule, place.cardinality, at));
    addAll(failures, validateCompiled(rule, at, place.uncorrelatable));
  });
  return failures;
}

function validateTexts({ rule = '', message = '' }: ValidationRule, path: FieldPath): FieldFailure[] {
  const messagePath = path.child('message');
  const hasNewline = (text: string): boolean => /[\n\r]/.test(text.trim());
  if (rule.trim() === '') return [required(path.child('rule'), 'rule is not specified')];
  if (message !== '' && message.trim() === '') {
    return [invalidValue(messagePath, message, 'message must be non-empty if specified')];
  }
  if (hasNewline(message)) return [invalidValue(messagePath, message, 'message must not contain line breaks')];
  if (!hasNewline(rule) || message.trim() !== '') return [];
  return [required(messagePath, 'message must be specified if rule contains line breaks')];
}

function validateCompiled(
  { rule, error, isTransition }: CompiledRule,
  path: FieldPath,
  uncorrelatable: FieldPath | undefined,
): FieldFailure[] {
  if (error !== undefined) return [invalidValue(path, rule, error)];
  if (uncorrelatable === undefined || !isTransition) return [];
  const detail = `oldSelf cannot be used on the uncorrelatable portion of the schema within ${uncorrelatable}`;
  return [invalidValue(path, rule.rule, detail)];
}
