/** The default priority levels, and the flow schemas that assign requests to them. */
import type {
  FlowSchema,
  PolicyRulesWithSubjects,
  PriorityLevelConfiguration,
  Subject,
} from '#api/flowcontrol/v1beta2/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';

interface Level {
  readonly shares: number;
  /** Absent: requests beyond the shares are rejected, not queued. */
  readonly queues?: number;
  readonly handSize?: number;
}

const levels: Readonly<Record<string, Level>> = {
  'catch-all': { shares: 5 },
  'global-default': { shares: 20, queues: 128, handSize: 6 },
  'leader-election': { shares: 10, queues: 16, handSize: 4 },
  'node-high': { shares: 40, queues: 64, handSize: 6 },
  system: { shares: 30, queues: 64, handSize: 6 },
  'workload-high': { shares: 40, queues: 128, handSize: 6 },
  'workload-low': { shares: 100, queues: 128, handSize: 6 },
};
const queueLengthLimit = 50;

/** Annotation: whether this server updates the object's spec. */
export function autoUpdateKey(dialect: Dialect): string {
  return `apf.${dialect.labelDomain}/autoupdate-spec`;
}

const autoUpdate = (dialect: Dialect) => ({ [autoUpdateKey(dialect)]: 'true' });

export function bootstrapPriorityLevels(dialect: Dialect): PriorityLevelConfiguration[] {
  const annotations = autoUpdate(dialect);
  const limited = Object.entries(levels).map(([name, { shares, queues, handSize = 6 }]): PriorityLevelConfiguration => {
    const limitResponse =
      queues === undefined ? { type: 'Reject' } : { type: 'Queue', queuing: { queues, handSize, queueLengthLimit } };
    const spec = { type: 'Limited', limited: { assuredConcurrencyShares: shares, limitResponse } };
    return { metadata: { name, annotations }, spec };
  });
  return [{ metadata: { name: 'exempt', annotations }, spec: { type: 'Exempt' } }, ...limited];
}

interface Schema {
  readonly name: string;
  readonly level: string;
  readonly precedence: number;
  readonly by?: 'ByUser' | 'ByNamespace';
  readonly rule: PolicyRulesWithSubjects;
}

export function bootstrapFlowSchemas(dialect: Dialect): FlowSchema[] {
  return schemas(dialect).map(({ name, level, precedence, by, rule }) => ({
    metadata: { name, annotations: autoUpdate(dialect) },
    spec: {
      priorityLevelConfiguration: { name: level },
      matchingPrecedence: precedence,
      ...(by === undefined ? {} : { distinguisherMethod: { type: by } }),
      rules: [rule],
    },
  }));
}

function schemas(dialect: Dialect): Schema[] {
  const { users, groups, namespaces, components } = dialect;
  const user = (name: string): Subject => ({ kind: 'User', user: { name } });
  const group = (name: string): Subject => ({ kind: 'Group', group: { name } });
  const account = (name: string): Subject => ({
    kind: 'ServiceAccount',
    serviceAccount: { namespace: namespaces.system, name },
  });
  const everyone = [group(groups.unauthenticated), group(groups.authenticated)];
  const all = (...subjects: Subject[]): PolicyRulesWithSubjects => ({
    subjects,
    resourceRules: [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'], clusterScope: true, namespaces: ['*'] }],
    nonResourceRules: [{ verbs: ['*'], nonResourceURLs: ['*'] }],
  });
  const election = (subjects: Subject[], locksElsewhere: boolean): PolicyRulesWithSubjects => {
    const verbs = ['get', 'create', 'update'];
    const leases = { apiGroups: [dialect.groupName('coordination')], resources: ['leases'] };
    const others = { apiGroups: [''], resources: ['endpoints', 'configmaps'] };
    const kinds = locksElsewhere ? [others, leases] : [leases];
    return { subjects, resourceRules: kinds.map((kind) => ({ verbs, ...kind, namespaces: ['*'] })) };
  };
  const managers = [user(users.controllerManager), user(users.scheduler)];
  return [
    { name: 'exempt', level: 'exempt', precedence: 1, rule: all(group(groups.masters)) },
    {
      name: 'probes',
      level: 'exempt',
      precedence: 2,
      rule: {
        subjects: everyone,
        nonResourceRules: [{ verbs: ['get'], nonResourceURLs: ['/healthz', '/readyz', '/livez'] }],
      },
    },
    {
      name: 'system-leader-election',
      level: 'leader-election',
      precedence: 100,
      by: 'ByUser',
      rule: election([...managers, account('*')], false),
    },
    {
      name: 'endpoint-controller',
      level: 'workload-high',
      precedence: 150,
      by: 'ByUser',
      rule: {
        subjects: [
          user(users.controllerManager),
          account('endpoint-controller'),
          account('endpointslicemirroring-controller'),
        ],
        resourceRules: [
          { verbs: ['get', 'create', 'update'], apiGroups: [''], resources: ['endpoints'], namespaces: ['*'] },
        ],
      },
    },
    {
      name: 'workload-leader-election',
      level: 'leader-election',
      precedence: 200,
      by: 'ByUser',
      rule: election([account('*')], true),
    },
    {
      name: 'system-node-high',
      level: 'node-high',
      precedence: 400,
      by: 'ByUser',
      rule: {
        subjects: [group(groups.nodes)],
        resourceRules: [
          {
            verbs: ['*'],
            apiGroups: [''],
            resources: ['nodes', 'nodes/status'],
            clusterScope: true,
            namespaces: ['*'],
          },
          { verbs: ['*'], apiGroups: [dialect.groupName('coordination')], resources: ['leases'], namespaces: ['*'] },
        ],
      },
    },
    { name: 'system-nodes', level: 'system', precedence: 500, by: 'ByUser', rule: all(group(groups.nodes)) },
    {
      name: components.controllerManager,
      level: 'workload-high',
      precedence: 800,
      by: 'ByNamespace',
      rule: all(user(users.controllerManager)),
    },
    {
      name: components.scheduler,
      level: 'workload-high',
      precedence: 800,
      by: 'ByNamespace',
      rule: all(user(users.scheduler)),
    },
    {
      name: `${namespaces.system}-service-accounts`,
      level: 'workload-high',
      precedence: 900,
      by: 'ByNamespace',
      rule: all(account('*')),
    },
    {
      name: 'service-accounts',
      level: 'workload-low',
      precedence: 9000,
      by: 'ByUser',
      rule: all(group(groups.serviceAccounts)),
    },
    { name: 'global-default', level: 'global-default', precedence: 9900, by: 'ByUser', rule: all(...everyone) },
    { name: 'catch-all', level: 'catch-all', precedence: 10_000, by: 'ByUser', rule: all(...everyone) },
  ];
}
