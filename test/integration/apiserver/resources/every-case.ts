/** Cases of all resources that store objects. */
import type { FeatureGateName } from '#daemon/options/groups/feature-gate-table.js';
import { FeatureGates } from '#daemon/options/groups/feature-gates.js';
import { administrationCases } from '#test/integration/apiserver/resources/administration.js';
import { betaCases } from '#test/integration/apiserver/resources/beta.js';
import { clusterCases } from '#test/integration/apiserver/resources/cluster.js';
import { coreCases } from '#test/integration/apiserver/resources/core.js';
import type { AnyCase } from '#test/integration/apiserver/resources/resource-case.js';
import { workloadCases } from '#test/integration/apiserver/resources/workloads.js';

export const everyCase: readonly AnyCase[] = [
  ...coreCases,
  ...workloadCases,
  ...clusterCases,
  ...administrationCases,
  ...betaCases,
];

/** Cases of resources that are served with any gates. */
export const ungatedCases: readonly AnyCase[] = everyCase.filter(({ resource }) => resource.featureGate === undefined);

/** The release's default gates, plus those that the resources need. */
export function gateFor(cases: readonly AnyCase[], ...more: readonly string[]): (name: string) => boolean {
  const features = [...cases.flatMap(({ resource }) => resource.featureGate ?? []), ...more];
  const gates = new FeatureGates(Object.fromEntries(features.map((name) => [name, true])));
  return (name) => gates.enabled(name as FeatureGateName);
}
