/** Feature gates of the API: those in declarations and those that rules use. */
import { groupVersions } from '#api/scheme.gen.js';
import { ruleGates } from '#api/strategy/feature-gates.js';

/** Names of all gates that affect the API. */
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
