/** Conditions of definitions of custom resources. */
import type { CustomResourceDefinition, CustomResourceDefinitionCondition } from '#api/apiextensions/v1/types.gen.js';
import { isConditionTrue, setCondition } from '#api/meta/v1/condition/conditions.js';

export type NewCondition = Omit<CustomResourceDefinitionCondition, 'lastTransitionTime'>;

/** The definition with that condition; itself where it says so already. `now`: RFC 3339. */
export function withCondition(
  definition: CustomResourceDefinition,
  condition: NewCondition,
  now: string,
): CustomResourceDefinition {
  const known = definition.status?.conditions ?? [];
  const conditions = setCondition<CustomResourceDefinitionCondition>(known, condition, now);
  if (conditions === known) return definition;
  return { ...definition, status: { ...definition.status, conditions } } as CustomResourceDefinition;
}

export function withoutCondition(definition: CustomResourceDefinition, type: string): CustomResourceDefinition {
  const conditions = (definition.status?.conditions ?? []).filter((one) => one.type !== type);
  return { ...definition, status: { ...definition.status, conditions } } as CustomResourceDefinition;
}

/** Whether its objects can be asked for. */
export function isEstablished({ status }: Pick<CustomResourceDefinition, 'status'>): boolean {
  return isConditionTrue(status?.conditions, 'Established');
}

/** Whether its objects are being removed, so that there may be no new ones. */
export function isTerminating({ status }: Pick<CustomResourceDefinition, 'status'>): boolean {
  return isConditionTrue(status?.conditions, 'Terminating');
}
