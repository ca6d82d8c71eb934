import { csiStorageCapacityStrategy } from '#api/storage/v1/csistoragecapacity/strategy.js';
import { csistoragecapacities } from '#api/storage/v1beta1/resources.gen.js';
import type { CSIStorageCapacity } from '#api/storage/v1beta1/types.gen.js';
import { renamedStrategy } from '#api/strategy/converted-strategy.js';
import type { Strategy } from '#api/strategy/strategy.js';

export const csiStorageCapacityV1beta1Strategy: Strategy<CSIStorageCapacity> = renamedStrategy(
  csistoragecapacities,
  csiStorageCapacityStrategy,
);
