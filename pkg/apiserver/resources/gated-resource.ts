/** Resources that are there only while the gate of their feature is on. */
import type { ResourceDeclaration } from '#apimachinery/schema/schema.js';
import type { FeatureGateName } from '#daemon/options/groups/feature-gate-table.js';
import { FeatureGates } from '#daemon/options/groups/feature-gates.js';

/** `gate` is true for gates that are on; absent: they are as the release has them. */
export function isServed(
  { featureGate }: ResourceDeclaration,
  gate: (name: string) => boolean = (name) => new FeatureGates().enabled(name as FeatureGateName),
): boolean {
  return featureGate === undefined || gate(featureGate);
}
