import { validateFlowSchemaSpec } from '#api/flowcontrol/v1beta2/flowschema/validation.js';
import { flowschemas } from '#api/flowcontrol/v1beta2/resources.gen.js';
import { validateAutoUpdate, validateConditions } from '#api/flowcontrol/v1beta2/shared/validation.js';
import type { FlowSchema } from '#api/flowcontrol/v1beta2/types.gen.js';
import { getCondition } from '#api/meta/v1/condition/conditions.js';
import { kindStrategy } from '#api/strategy/kind-strategy.js';
import type { Strategy } from '#api/strategy/strategy.js';
import { age } from '#api/table/age.js';
import { orNone } from '#api/table/text.js';

export const flowSchemaStrategy: Strategy<FlowSchema> = kindStrategy<FlowSchema>(flowschemas, {
  generationFields: ['spec'],
  validate: (schema, context) => [
    ...validateAutoUpdate(schema, context.dialect),
    ...validateFlowSchemaSpec(schema.spec, schema.metadata.name ?? '', context.dialect),
  ],
  validateStatusUpdate: (schema) => validateConditions(schema.status?.conditions),
  cells: ({ metadata, spec, status }, context) => [
    metadata.name ?? '',
    spec.priorityLevelConfiguration?.name ?? '',
    spec.matchingPrecedence ?? 0,
    orNone(spec.distinguisherMethod?.type),
    age(metadata.creationTimestamp, context.now),
    getCondition(
      (status?.conditions ?? []).map(({ type = '', status: state = '' }) => ({ type, status: state })),
      'Dangling',
    )?.status ?? '?',
  ],
});
