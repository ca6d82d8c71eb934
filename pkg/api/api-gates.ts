/** Feature gates that act on the API: those that declarations name, and those that rules of kinds ask for. */
import { groupVersions } from '#api/scheme.gen.js';
import { ruleGates } from '#api/strategy/feature-gates.js';

/** Names of all gates that change anything about the API. */
export function apiGates(): string[] {
  const declared = groupVersions.flatMap(({ kinds }) =>
    kinds.flatMap(({ types, resources = [] }) => [
      ...resources,
      ...Object.values(types).flatMap(({ fields }) => Object.values(fields)),
    ]),
  );
  const named = declared.flatMap(({ featureGate }) => featureGate ?? []);
  return [...new Set([...named, ...ruleGates])].sort();
}
