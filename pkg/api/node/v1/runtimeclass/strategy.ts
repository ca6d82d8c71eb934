/** What is particular to runtime classes. */
import { nodeLabelWarnings } from '#api/core/v1/node/deprecated-labels.js';
import { validateResourceRequirements } from '#api/core/v1/pod/validation/resources.js';
import { validateTolerations } from '#api/core/v1/pod/validation/scheduling.js';
import { validateImmutable, validateLabels } from '#api/meta/v1/objectmeta/validation.js';
import { runtimeclasses } from '#api/node/v1/resources.gen.js';
import type { RuntimeClass } from '#api/node/v1/types.gen.js';
import { kindStrategy } from '#api/strategy/kind-strategy.js';
import type { Strategy } from '#api/strategy.js';
import { age } from '#api/table/age.js';
import { checkDNSLabel } from '#apimachinery/validation/checks.js';
import { FieldPath } from '#apimachinery/validation/path.js';

const handlerPath = FieldPath.of('handler');
const schedulingPath = FieldPath.of('scheduling');

export const runtimeClassStrategy: Strategy<RuntimeClass> = kindStrategy<RuntimeClass>(runtimeclasses, {
  validate: (object, context) => [
    ...checkDNSLabel(handlerPath, object.handler ?? ''),
    ...(object.overhead?.podFixed === undefined
      ? []
      : validateResourceRequirements({ limits: object.overhead.podFixed }, context.dialect, FieldPath.of('overhead'))),
    ...validateLabels(object.scheduling?.nodeSelector, schedulingPath.child('nodeSelector')),
    ...validateTolerations(object.scheduling?.tolerations, schedulingPath.child('tolerations')),
  ],
  validateUpdate: (object, old) => validateImmutable(object.handler, old.handler, handlerPath),
  warnings: (object, _old, context) =>
    nodeLabelWarnings(object.scheduling?.nodeSelector, context.dialect, schedulingPath.child('nodeSelector')),
  cells: (object, context) => [
    object.metadata.name ?? '',
    object.handler ?? '',
    age(object.metadata.creationTimestamp, context.now),
  ],
});
