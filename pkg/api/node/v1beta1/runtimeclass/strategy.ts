import { runtimeClassStrategy } from '#api/node/v1/runtimeclass/strategy.js';
import { runtimeclasses } from '#api/node/v1beta1/resources.gen.js';
import type { RuntimeClass } from '#api/node/v1beta1/types.gen.js';
import { renamedStrategy } from '#api/strategy/converted-strategy.js';
import type { Strategy } from '#api/strategy/strategy.js';

export const runtimeClassV1beta1Strategy: Strategy<RuntimeClass> = renamedStrategy(
  runtimeclasses,
  runtimeClassStrategy,
);
