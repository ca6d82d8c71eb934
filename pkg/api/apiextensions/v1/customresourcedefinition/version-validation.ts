/** Rules of a version of a custom resource: deprecation, subresources, columns, schema. */
import { type SchemaRules, validateSchema } from '#api/apiextensions/v1/customresourcedefinition/schema-validation.js';
import type {
  CustomResourceColumnDefinition,
  CustomResourceDefinitionVersion,
  CustomResourceSubresourceScale,
} from '#api/apiextensions/v1/types.gen.js';
import { isPrintable } from '#apimachinery/errors/message-values.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { checkRequired } from '#apimachinery/validation/checks.js';
import { addAll, invalidValue, required } from '#apimachinery/validation/failure.js';
import type { FieldPath } from '#apimachinery/validation/path.js';

const maxWarningBytes = 256;
const columnTypes = ['boolean', 'date', 'integer', 'number', 'string'];
const columnFormats = ['byte', 'date', 'date-time', 'double', 'float', 'int32', 'int64', 'password'];

/** Rules common to all versions. */
export type VersionRules = Omit<SchemaRules, 'hasStatus'>;

/** Parts that 1.24 stores and reports once if all versions have the same. */
export interface SharedParts {
  readonly schema: boolean;
  readonly subresources: boolean;
  readonly columns: boolean;
}

/** `path` is the version's; parts shared by all versions are skipped. */
export function validateVersion(
  version: CustomResourceDefinitionVersion,
  rules: VersionRules,
  shared: SharedParts,
  path: FieldPath,
): FieldFailure[] {
  return [
    ...validateWarning(version, path.child('deprecationWarning')),
    ...(shared.schema ? [] : validateVersionSchema(version, rules, path.child('schema'))),
    ...(shared.subresources ? [] : validateSubresources(version, path.child('subresources'))),
    ...(shared.columns ? [] : validateColumns(version, path.child('additionalPrinterColumns'))),
  ];
}

/** `path` is that of the schema's parent: a version's `schema`, or `validation` for all versions. */
export function validateVersionSchema(
  { schema, subresources }: CustomResourceDefinitionVersion,
  rules: VersionRules,
  path: FieldPath,
): FieldFailure[] {
  const at = path.child('openAPIV3Schema');
  const root = schema?.openAPIV3Schema;
  // A missing schema is reported elsewhere.
  if (root === undefined) return [];
  return validateSchema(root, { ...rules, hasStatus: subresources?.status !== undefined }, at);
}

export function validateSubresources(
  { subresources }: CustomResourceDefinitionVersion,
  path: FieldPath,
): FieldFailure[] {
  return subresources?.scale === undefined ? [] : validateScale(subresources.scale, path.child('scale'));
}

export function validateColumns(
  { additionalPrinterColumns = [] }: CustomResourceDefinitionVersion,
  path: FieldPath,
): FieldFailure[] {
  return additionalPrinterColumns.flatMap((column, i) => validateColumn(column, path.index(i)));
}

function validateWarning(version: CustomResourceDefinitionVersion, path: FieldPath): FieldFailure[] {
  const text = version.deprecationWarning;
  if (text === undefined) return [];
  if (version.deprecated !== true) return [invalidValue(path, text, 'can only be set for deprecated versions')];
  const failures: FieldFailure[] = [];
  if (Buffer.byteLength(text) > maxWarningBytes) {
    failures.push(invalidValue(path, text, `must be <= ${maxWarningBytes} characters long`));
  }
  if (text === '') failures.push(invalidValue(path, text, 'must not be an empty string'));
  let at = 0;
  for (const character of text) {
    if (!isPrintable(character)) {
      const detail = `must only contain printable UTF-8 characters; non-printable character found at index ${at}`;
      return [...failures, invalidValue(path, text, detail)];
    }
    at += Buffer.byteLength(character);
  }
  return failures;
}

/** `.spec.replicas`: names joined by dots. */
function checkSimplePath(path: FieldPath, value: string): FieldFailure[] {
  if (value === '') return [invalidValue(path, value, 'must not be empty')];
  if (!value.startsWith('.')) return [invalidValue(path, value, 'must be a simple json path starting with .')];
  return [];
}

function checkPathUnder(path: FieldPath, value: string, roots: readonly string[], text: string): FieldFailure[] {
  const failures = checkSimplePath(path, value);
  if (failures.length > 0 || roots.some((root) => value.startsWith(`${root}.`))) return failures;
  return [invalidValue(path, value, text)];
}

function validateScale(scale: CustomResourceSubresourceScale, path: FieldPath): FieldFailure[] {
  const failures: FieldFailure[] = [];
  for (const [field, root] of [
    ['specReplicasPath', '.spec'],
    ['statusReplicasPath', '.status'],
  ] as const) {
    const value = scale[field] ?? '';
    if (value === '') failures.push(required(path.child(field)));
    else addAll(failures, checkPathUnder(path.child(field), value, [root], `should be a json path under ${root}`));
  }
  const selector = scale.labelSelectorPath ?? '';
  if (selector !== '') {
    const text = 'should be a json path under either .spec or .status';
    addAll(failures, checkPathUnder(path.child('labelSelectorPath'), selector, ['.spec', '.status'], text));
  }
  return failures;
}

function validateColumn(column: CustomResourceColumnDefinition, path: FieldPath): FieldFailure[] {
  const { type = '', format = '', jsonPath = '' } = column;
  const failures = [...checkRequired(path.child('name'), column.name)];
  const types = `must be one of ${columnTypes.join(',')}`;
  if (type === '') failures.push(required(path.child('type'), types));
  else if (!columnTypes.includes(type)) failures.push(invalidValue(path.child('type'), type, types));
  if (format !== '' && !columnFormats.includes(format)) {
    failures.push(invalidValue(path.child('format'), format, `must be one of ${columnFormats.join(',')}`));
  }
  // 1.24 reports the field in this spelling.
  const at = path.child('JSONPath');
  return [...failures, ...(jsonPath === '' ? [required(at)] : checkSimplePath(at, jsonPath))];
}
