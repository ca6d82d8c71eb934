/** What is particular to reports of a driver's capacity. */
import { nodeKeyWarnings, nodeLabelWarnings } from '#api/core/v1/affinity/deprecated-labels.js';
import { validateLabelSelector } from '#api/meta/v1/labelselector/validation.js';
import { csistoragecapacities } from '#api/storage/v1/resources.gen.js';
import type { CSIStorageCapacity } from '#api/storage/v1/types.gen.js';
import { kindStrategy } from '#api/strategy/kind-strategy.js';
import type { Strategy } from '#api/strategy/strategy.js';
import { quantitySign } from '#apimachinery/quantity.js';
import { checkDNSSubdomain } from '#apimachinery/validation/checks.js';
import { invalidValue } from '#apimachinery/validation/failure.js';
import { FieldPath } from '#apimachinery/validation/path.js';

const classPath = FieldPath.of('storageClassName');
const topologyPath = FieldPath.of('nodeTopology');

export const csiStorageCapacityStrategy: Strategy<CSIStorageCapacity> = kindStrategy<CSIStorageCapacity>(
  csistoragecapacities,
  {
    allowUnconditionalUpdate: false,
    validate: (object) => [
      ...checkDNSSubdomain(classPath, object.storageClassName ?? ''),
      ...validateLabelSelector(object.nodeTopology, topologyPath),
      ...(['capacity', 'maximumVolumeSize'] as const).flatMap((field) => {
        const value = object[field];
        if (value === undefined || quantitySign(value) >= 0) return [];
        return [invalidValue(FieldPath.of(field), value, 'must be greater than or equal to 0')];
      }),
    ],
    warnings: (object, _old, context) => [
      ...nodeLabelWarnings(object.nodeTopology?.matchLabels, context.dialect, topologyPath.child('matchLabels')),
      ...(object.nodeTopology?.matchExpressions ?? []).flatMap(({ key }, i) =>
        nodeKeyWarnings(key, context.dialect, topologyPath.child('matchExpressions').index(i).child('key')),
      ),
    ],
  },
);
