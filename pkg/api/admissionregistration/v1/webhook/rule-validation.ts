/** Rules of which requests a webhook is asked about. */
import { declaration as schema } from '#api/admissionregistration/v1/shared.js';
import type { RuleWithOperations } from '#api/admissionregistration/v1/types.gen.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { checkOptionalEnum } from '#apimachinery/validation/checks.js';
import { addAll, invalidValue, notSupported, required } from '#apimachinery/validation/failure.js';
import type { FieldPath } from '#apimachinery/validation/path.js';

export function validateRule(rule: RuleWithOperations, path: FieldPath): FieldFailure[] {
  const failures = checkList(rule.operations, 'operations', path.child('operations'));
  rule.operations?.forEach((operation, i) => {
    if (schema.enums.OperationType.includes(operation)) return;
    failures.push(notSupported(path.child('operations').index(i), operation, schema.enums.OperationType));
  });
  addAll(failures, checkList(rule.apiGroups, 'API groups', path.child('apiGroups')));
  const versions = path.child('apiVersions');
  addAll(failures, checkList(rule.apiVersions, 'API versions', versions));
  rule.apiVersions?.forEach((version, i) => {
    if (version === '') failures.push(required(versions.index(i)));
  });
  return [
    ...failures,
    ...validateResources(rule.resources ?? [], path.child('resources')),
    ...checkOptionalEnum(path.child('scope'), rule.scope, schema.enums.ScopeType),
  ];
}

/** At least one, and a star alone. */
function checkList(values: readonly string[] | undefined, word: string, path: FieldPath): FieldFailure[] {
  if (values === undefined || values.length === 0) return [required(path)];
  if (values.length === 1 || !values.includes('*')) return [];
  return [invalidValue(path, values, `if '*' is present, must not specify other ${word}`)];
}

/** `pods`, `pods/status`, `pods/*`, `*\/scale`, `*` (no subresource), `*\/*`: none that another includes already. */
function validateResources(resources: readonly string[], path: FieldPath): FieldFailure[] {
  if (resources.length === 0) return [required(path)];
  const failures: FieldFailure[] = [];
  const anySubresource = new Set<string>();
  const anyResource = new Set<string>();
  let plain = false;
  resources.forEach((text, i) => {
    const at = path.index(i);
    if (text === '') failures.push(required(at));
    const slash = text.indexOf('/');
    if (slash < 0) {
      // The last one without a subresource decides, as in 1.24.
      if (text !== '') plain = text !== '*';
      return;
    }
    const resource = text.slice(0, slash);
    const subresource = text.slice(slash + 1);
    if (anySubresource.has(resource)) {
      failures.push(invalidValue(at, text, `if '${resource}/*' is present, must not specify ${text}`));
    }
    if (anyResource.has(subresource)) {
      failures.push(invalidValue(at, text, `if '*/${subresource}' is present, must not specify ${text}`));
    }
    if (subresource === '*') anySubresource.add(resource);
    if (resource === '*') anyResource.add(subresource);
  });
  if (resources.length > 1 && resources.includes('*/*')) {
    failures.push(invalidValue(path, resources, "if '*/*' is present, must not specify other resources"));
  }
  if (plain && resources.includes('*')) {
    const text = "if '*' is present, must not specify other resources without subresources";
    failures.push(invalidValue(path, resources, text));
  }
  return failures;
}
