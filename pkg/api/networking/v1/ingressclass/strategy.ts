import { validateTypedReference } from '#api/networking/v1/reference/validation.js';
import { ingressclasses } from '#api/networking/v1/resources.gen.js';
import type { IngressClass, IngressClassParametersReference } from '#api/networking/v1/types.gen.js';
import { kindStrategy } from '#api/strategy/kind-strategy.js';
import type { Strategy } from '#api/strategy/strategy.js';
import { age } from '#api/table/age.js';
import { none } from '#api/table/text.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { checkDNSLabel, checkDomainPrefixedPath } from '#apimachinery/validation/checks.js';
import { addAll, forbiddenField, notSupported, required, tooLong } from '#apimachinery/validation/failure.js';
import { FieldPath } from '#apimachinery/validation/path.js';

const specPath = FieldPath.of('spec');
const maxControllerLength = 250;

export const ingressClassStrategy: Strategy<IngressClass> = kindStrategy<IngressClass>(ingressclasses, {
  generationFields: ['spec'],
  changesFirst: true,
  validate: (object) => validateSpec(object),
  cells: (object, context) => [
    object.metadata.name ?? '',
    object.spec.controller ?? '',
    parametersText(object),
    age(object.metadata.creationTimestamp, context.now),
  ],
});

function validateSpec(object: IngressClass): FieldFailure[] {
  const { controller = '', parameters } = object.spec;
  const failures: FieldFailure[] = [];
  const controllerPath = specPath.child('controller');
  if (controller.length > maxControllerLength) failures.push(tooLong(controllerPath, maxControllerLength));
  addAll(failures, checkDomainPrefixedPath(controllerPath, controller));
  if (parameters === undefined) return failures;
  const at = specPath.child('parameters');
  return [...failures, ...validateTypedReference(parameters, at), ...validateScope(parameters, at)];
}

function validateScope(
  { scope, namespace }: IngressClassParametersReference,
  path: FieldPath,
): readonly FieldFailure[] {
  if (scope === undefined) return [required(path.child('scope'))];
  const at = path.child('namespace');
  switch (scope) {
    case 'Namespace':
      if (namespace === undefined) return [required(at, "`parameters.scope` is set to 'Namespace'")];
      return checkDNSLabel(at, namespace);
    case 'Cluster':
      return namespace === undefined ? [] : [forbiddenField(at, "`parameters.scope` is set to 'Cluster'")];
    default:
      return [notSupported(path.child('scope'), scope, ['Cluster', 'Namespace'])];
  }
}

function parametersText(object: IngressClass): string {
  const parameters = object.spec.parameters;
  if (parameters === undefined) return none;
  const group = parameters.apiGroup === undefined ? '' : `.${parameters.apiGroup}`;
  return `${parameters.kind}${group}/${parameters.name}`;
}
