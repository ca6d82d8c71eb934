/** Configuration that may not be changed, so that the server stays reachable: 1.24 keeps it at these values. */
import type {
  FlowSchemaSpec,
  PolicyRulesWithSubjects,
  PriorityLevelConfigurationSpec,
} from '#api/flowcontrol/v1beta2/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';

/** What is never queued. */
export const exemptName = 'exempt';
/** What takes the requests that no other configuration wants. */
const catchAllName = 'catch-all';

function everythingOf(...groups: readonly string[]): PolicyRulesWithSubjects {
  return {
    subjects: groups.map((name) => ({ kind: 'Group', group: { name } })),
    resourceRules: [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'], clusterScope: true, namespaces: ['*'] }],
    nonResourceRules: [{ verbs: ['*'], nonResourceURLs: ['*'] }],
  };
}

/** The only spec that a flow schema of this name may have; undefined for all other names. */
export function fixedFlowSchema(name: string, dialect: Dialect): FlowSchemaSpec | undefined {
  const { masters, authenticated, unauthenticated } = dialect.groups;
  if (name === exemptName) {
    return {
      priorityLevelConfiguration: { name },
      matchingPrecedence: 1,
      rules: [everythingOf(masters)],
    };
  }
  if (name !== catchAllName) return undefined;
  return {
    priorityLevelConfiguration: { name },
    matchingPrecedence: 10_000,
    distinguisherMethod: { type: 'ByUser' },
    rules: [everythingOf(unauthenticated, authenticated)],
  };
}

/** The only spec that a priority level of this name may have; undefined for all other names. */
export function fixedPriorityLevel(name: string): PriorityLevelConfigurationSpec | undefined {
  if (name === exemptName) return { type: 'Exempt' };
  if (name !== catchAllName) return undefined;
  return { type: 'Limited', limited: { assuredConcurrencyShares: 5, limitResponse: { type: 'Reject' } } };
}
