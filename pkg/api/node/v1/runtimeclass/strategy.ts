import { validateResourceRequirements } from '#api/core/v1/pod/validation/resources.js';
import { validateTolerations } from '#api/core/v1/pod/validation/scheduling.js';
import { coreValues } from '#api/core/v1/values/go-values.js';
import { validateLabels } from '#api/meta/v1/objectmeta/validation.js';
import { runtimeclasses } from '#api/node/v1/resources.gen.js';
import type { RuntimeClass } from '#api/node/v1/types.gen.js';
import { kindStrategy } from '#api/strategy/kind-strategy.js';
import type { Strategy } from '#api/strategy/strategy.js';
import { age } from '#api/table/age.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { checkDNSLabel } from '#apimachinery/validation/checks.js';
import { addAll, duplicate } from '#apimachinery/validation/failure.js';
import { FieldPath } from '#apimachinery/validation/path.js';

const handlerPath = FieldPath.of('handler');
const schedulingPath = FieldPath.of('scheduling');

export const runtimeClassStrategy: Strategy<RuntimeClass> = kindStrategy<RuntimeClass>(runtimeclasses, {
  allowCreateOnUpdate: true,
  anyFinalizer: true,
  allowUnconditionalUpdate: false,
  validate: (object, context) => validateRuntimeClass(object, context.dialect),
  cells: (object, context) => [
    object.metadata.name ?? '',
    object.handler ?? '',
    age(object.metadata.creationTimestamp, context.now),
  ],
});

function validateRuntimeClass({ handler, overhead, scheduling }: RuntimeClass, dialect: Dialect): FieldFailure[] {
  const tolerations = scheduling?.tolerations ?? [];
  const tolerationsPath = schedulingPath.child('tolerations');
  const failures: FieldFailure[] = [...checkDNSLabel(handlerPath, handler ?? '')];
  if (overhead?.podFixed !== undefined) {
    addAll(failures, validateResourceRequirements({ limits: overhead.podFixed }, dialect, FieldPath.of('overhead')));
  }
  addAll(failures, validateLabels(scheduling?.nodeSelector, schedulingPath.child('nodeSelector')));
  // The name occurs twice in the paths of 1.24.
  addAll(failures, validateTolerations(tolerations, tolerationsPath.child('tolerations')));
  const seen = new Set<string>();
  tolerations.forEach((toleration, i) => {
    const { key = '', operator = '', value = '', effect = '' } = toleration;
    const identity = JSON.stringify([key, operator, value, effect]);
    if (seen.has(identity)) failures.push(duplicate(tolerationsPath.index(i), coreValues.of('Toleration', toleration)));
    seen.add(identity);
  });
  return failures;
}
