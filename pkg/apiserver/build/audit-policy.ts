/** The audit policy file (`Policy` of `audit.…/v1`), checked with the messages of 1.24. */
import type { Dialect } from '#apimachinery/dialect.js';
import { dns1123SubdomainErrors } from '#apimachinery/validation/names.js';
import { auditVersion } from '#apiserver/audit/event.js';
import { levels, type Policy, type PolicyRule, stages } from '#apiserver/audit/policy.js';
import { textOf } from '#daemon/certificates/followed-file.js';
import { decodeFields, type FieldTable, isPlain, parseConfigText } from '#daemon/options/config-decode.js';
import { OptionsError } from '#daemon/options/option.js';

const option = 'audit-policy-file';
const texts = { listOf: 'string' } as const;

const fields: FieldTable = {
  apiVersion: 'string',
  kind: 'string',
  metadata: 'any',
  omitStages: texts,
  omitManagedFields: 'bool',
  rules: {
    listOf: {
      fields: {
        level: 'string',
        users: texts,
        userGroups: texts,
        verbs: texts,
        resources: { listOf: { fields: { group: 'string', resources: texts, resourceNames: texts } } },
        namespaces: texts,
        nonResourceURLs: texts,
        omitStages: texts,
        omitManagedFields: 'bool',
      },
    },
  },
};

/** Throws OptionsError that names the file and the field. */
export async function readAuditPolicy(path: string, dialect: Dialect): Promise<Policy> {
  const errors: string[] = [];
  const value = parseConfigText(await textOf(option, path));
  if (!isPlain(value)) throw new OptionsError([`--${option}: ${path}: must be an object`]);
  const { apiVersion, kind } = value;
  if (apiVersion !== auditVersion(dialect) || kind !== 'Policy') {
    errors.push(
      `unknown group version field ${apiVersion}, Kind=${kind} in policy: must be "${auditVersion(dialect)}" and "Policy"`,
    );
  }
  const policy = decodeFields(fields, value, errors) as Partial<Policy>;
  const { rules = [] } = policy;
  if (errors.length === 0 && rules.length === 0) errors.push('loaded illegal policy with 0 rules');
  if (errors.length === 0) errors.push(...policyFailures({ ...policy, rules }));
  if (errors.length > 0) throw new OptionsError(errors.map((error) => `--${option}: ${path}: ${error}`));
  return { ...policy, rules };
}

/** Each failure names its field. Pure. */
function policyFailures({ rules, omitStages }: Policy): string[] {
  return [...stageFailures('omitStages', omitStages), ...rules.flatMap((rule, i) => ruleFailures(`rules[${i}]`, rule))];
}

function ruleFailures(path: string, rule: PolicyRule): string[] {
  const { level, nonResourceURLs = [], resources = [], namespaces = [] } = rule;
  const failures: string[] = [];
  if (level === undefined) failures.push(`${path}.level: Required value`);
  else if (!levels.includes(level)) {
    const supported = [...levels].map((each) => JSON.stringify(each)).join(', ');
    failures.push(`${path}.level: Unsupported value: ${JSON.stringify(level)}: supported values: ${supported}`);
  }
  for (const [i, url] of nonResourceURLs.entries()) {
    const at = `${path}.nonResourceURLs[${i}]: Invalid value: ${JSON.stringify(url)}:`;
    if (url === '*') continue;
    if (!url.startsWith('/')) failures.push(`${at} non-resource URL rules must begin with a '/' character`);
    if (url.slice(0, -1).includes('*')) {
      failures.push(`${at} non-resource URL wildcards '*' must be the final character of the rule`);
    }
  }
  for (const [i, { group = '', resources: of = [], resourceNames = [] }] of resources.entries()) {
    const at = `${path}.resources[${i}]`;
    for (const why of group === '' ? [] : dns1123SubdomainErrors(group)) {
      failures.push(`${at}.group: Invalid value: ${JSON.stringify(group)}: ${why}`);
    }
    if (resourceNames.length > 0 && of.length === 0) {
      failures.push(`${at}.resourceNames: Invalid value: using resourceNames requires at least one resource`);
    }
  }
  if (nonResourceURLs.length > 0 && (resources.length > 0 || namespaces.length > 0)) {
    const why = 'rules cannot apply to both regular resources and non-resource URLs';
    failures.push(`${path}.nonResourceURLs: Invalid value: ${JSON.stringify(nonResourceURLs)}: ${why}`);
  }
  return [...failures, ...stageFailures(`${path}.omitStages`, rule.omitStages)];
}

function stageFailures(path: string, omitted: Policy['omitStages'] = []): string[] {
  return omitted.flatMap((stage, i) =>
    stages.includes(stage)
      ? []
      : [`${path}[${i}]: Invalid value: ${JSON.stringify(stage)}: allowed stages are ${stages.join(',')}`],
  );
}
