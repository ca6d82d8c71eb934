import { validateLabelSelector } from '#api/meta/v1/labelselector/validation.js';
import { csistoragecapacities } from '#api/storage/v1/resources.gen.js';
import type { CSIStorageCapacity } from '#api/storage/v1/types.gen.js';
import { kindStrategy } from '#api/strategy/kind-strategy.js';
import type { Strategy } from '#api/strategy/strategy.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { quantitySign } from '#apimachinery/quantity.js';
import { checkDNSSubdomain } from '#apimachinery/validation/checks.js';
import { invalidValue, none } from '#apimachinery/validation/failure.js';
import { FieldPath } from '#apimachinery/validation/path.js';

const classPath = FieldPath.of('storageClassName');
const topologyPath = FieldPath.of('nodeTopology');

export const csiStorageCapacityStrategy: Strategy<CSIStorageCapacity> = kindStrategy<CSIStorageCapacity>(
  csistoragecapacities,
  {
    allowUnconditionalUpdate: false,
    validate: (object) => [
      ...validateLabelSelector(object.nodeTopology, topologyPath),
      ...checkDNSSubdomain(classPath, object.storageClassName ?? ''),
      ...validateCapacity(object.capacity),
    ],
  },
);

/** 1.24 does not validate the maximum volume size. */
function validateCapacity(capacity: string | undefined): readonly FieldFailure[] {
  if (capacity === undefined || quantitySign(capacity) >= 0) return none;
  return [invalidValue(FieldPath.of('capacity'), capacity, 'must be greater than or equal to 0')];
}
