/** Rules that flow schemas and priority levels share, and their mandatory configurations. */
import type {
  FlowSchemaSpec,
  PolicyRulesWithSubjects,
  PriorityLevelConfigurationSpec,
} from '#api/flowcontrol/v1beta2/types.gen.js';
import type { ApiObjectShape } from '#api/meta/object.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { duplicate, invalidValue, required } from '#apimachinery/validation/failure.js';
import { FieldPath } from '#apimachinery/validation/path.js';

/** Valid boolean texts. */
const booleans = ['1', 't', 'T', 'TRUE', 'true', 'True', '0', 'f', 'F', 'FALSE', 'false', 'False'];

/** Whether the server maintains the suggested object: an annotation with a boolean. */
export function validateAutoUpdate(object: ApiObjectShape, dialect: Dialect): FieldFailure[] {
  const key = `apf.${dialect.labelDomain}/autoupdate-spec`;
  const value = object.metadata.annotations?.[key];
  if (value === undefined || booleans.includes(value)) return [];
  const path = FieldPath.of('metadata', 'annotations').key(key);
  return [invalidValue(path, value, 'must be a boolean text, such as "true" or "false"')];
}

/** Condition types must be unique. */
export function validateConditions(conditions: readonly { type?: string }[] | undefined): FieldFailure[] {
  const failures: FieldFailure[] = [];
  const seen = new Set<string>();
  conditions?.forEach(({ type = '' }, i) => {
    const at = FieldPath.of('status', 'conditions').index(i).child('type');
    if (seen.has(type)) failures.push(duplicate(at, type));
    seen.add(type);
    if (type === '') failures.push(required(at, 'must not be empty'));
  });
  return failures;
}

/** The configuration for requests that are never queued. */
export const exemptName = 'exempt';
/** The configuration for requests that match no other. */
const catchAllName = 'catch-all';

function everythingOf(...groups: readonly string[]): PolicyRulesWithSubjects {
  return {
    subjects: groups.map((name) => ({ kind: 'Group', group: { name } })),
    resourceRules: [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'], clusterScope: true, namespaces: ['*'] }],
    nonResourceRules: [{ verbs: ['*'], nonResourceURLs: ['*'] }],
  };
}

/** The only valid spec of a mandatory flow schema, which keeps the server reachable; undefined for other names. */
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

/** The only valid spec of a mandatory priority level; undefined for other names. */
export function fixedPriorityLevel(name: string): PriorityLevelConfigurationSpec | undefined {
  if (name === exemptName) return { type: 'Exempt' };
  if (name !== catchAllName) return undefined;
  return { type: 'Limited', limited: { assuredConcurrencyShares: 5, limitResponse: { type: 'Reject' } } };
}
