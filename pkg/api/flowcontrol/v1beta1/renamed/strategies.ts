/** Flow control of version 1beta1, which is that of version 1beta2 by another name. */
import { flowschemas, prioritylevelconfigurations } from '#api/flowcontrol/v1beta1/resources.gen.js';
import type { FlowSchema, PriorityLevelConfiguration } from '#api/flowcontrol/v1beta1/types.gen.js';
import { flowSchemaStrategy } from '#api/flowcontrol/v1beta2/flowschema/strategy.js';
import { priorityLevelConfigurationStrategy } from '#api/flowcontrol/v1beta2/prioritylevelconfiguration/strategy.js';
import { renamedStrategy } from '#api/strategy/converted-strategy.js';
import type { Strategy } from '#api/strategy/strategy.js';

export const flowSchemaV1beta1Strategy: Strategy<FlowSchema> = renamedStrategy(flowschemas, flowSchemaStrategy);

export const priorityLevelConfigurationV1beta1Strategy: Strategy<PriorityLevelConfiguration> = renamedStrategy(
  prioritylevelconfigurations,
  priorityLevelConfigurationStrategy,
);
