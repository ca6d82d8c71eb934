/** Conditions of custom resource definitions. */
import type { CustomResourceDefinition, CustomResourceDefinitionCondition } from '#api/apiextensions/v1/types.gen.js';
import { isConditionTrue, setCondition } from '#api/meta/v1/condition/conditions.js';

export type NewCondition = Omit<CustomResourceDefinitionCondition, 'lastTransitionTime'>;

/** The definition with that condition; the same object if it has it already. `now`: RFC 3339. */
export function withCondition(
  definition: CustomResourceDefinition,
  condition: NewCondition,
  now: string,
): CustomResourceDefinition {
  const old = definition.status?.conditions ?? [];
  const conditions = setCondition<CustomResourceDefinitionCondition>(old, condition, now);
  if (conditions === old) return definition;
  return { ...definition, status: { ...definition.status, conditions } } as CustomResourceDefinition;
}

export function withoutCondition(definition: CustomResourceDefinition, type: string): CustomResourceDefinition {
  const conditions = (definition.status?.conditions ?? []).filter((one) => one.type !== type);
  return { ...definition, status: { ...definition.status, conditions } } as CustomResourceDefinition;
}

/** Whether its resources are served. */
export function isEstablished({ status }: Pick<CustomResourceDefinition, 'status'>): boolean {
  return isConditionTrue(status?.conditions, 'Established');
}

/** Whether its objects are being deleted, so that none may be created. */
export function isTerminating({ status }: Pick<CustomResourceDefinition, 'status'>): boolean {
  return isConditionTrue(status?.conditions, 'Terminating');
}
