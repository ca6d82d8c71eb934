/** Section 5 of the CIS benchmark for release 1.24: rights, pods, network policies and secrets. */
import type { Container, Pod } from '#api/core/v1/types.gen.js';
import type { ClusterRole, PolicyRule, Role, Subject } from '#api/rbac/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { podSecurityPrefix } from '#apiserver/admission/podsecurity/policy/namespace-policy.js';
import type { Check } from '#cluster/check/cis/check.js';
import type { ObjectFacts } from '#cluster/check/cis/object-facts.js';

/** Names that a text lists; the rest are counted. */
const maxListed = 5;

/** Objects that a person has to look at; undefined: none. */
function listed(what: string, names: readonly string[]): string | undefined {
  if (names.length === 0) return undefined;
  const more = names.length > maxListed ? `, and ${names.length - maxListed} more` : '';
  return `${what}: ${names.slice(0, maxListed).join(', ')}${more}`;
}

const nameOf = ({ metadata: { namespace, name = '' } }: Role | ClusterRole | Pod): string =>
  namespace === undefined ? name : `${namespace}/${name}`;

const allows = (list: readonly string[] | undefined, item: string) =>
  list?.some((each) => each === item || each === '*') === true;

const grants =
  (verbs: readonly string[], group: string, resource: string) =>
  ({ verbs: own, apiGroups, resources }: PolicyRule) =>
    verbs.some((verb) => allows(own, verb)) && allows(apiGroups, group) && allows(resources, resource);

export function policyChecks(dialect: Dialect): readonly Check<ObjectFacts>[] {
  const system = new Set([dialect.namespaces.system, dialect.namespaces.public, dialect.namespaces.nodeLease]);
  const bootstrapLabel = dialect.labels.bootstrapping;
  const enforceLabel = `${podSecurityPrefix(dialect)}enforce`;
  /** Roles that the API server does not maintain itself. */
  const ownRoles = ({ clusterRoles, roles }: ObjectFacts) =>
    [...clusterRoles, ...roles].filter(({ metadata }) => metadata.labels?.[bootstrapLabel] === undefined);
  const rolesThat = (facts: ObjectFacts, matches: (rule: PolicyRule) => boolean) =>
    ownRoles(facts)
      .filter(({ rules = [] }) => rules.some(matches))
      .map(nameOf);
  const userPods = ({ pods }: ObjectFacts) => pods.filter(({ metadata }) => !system.has(metadata.namespace ?? ''));
  const podsThat = (facts: ObjectFacts, matches: (pod: Pod) => boolean) => userPods(facts).filter(matches).map(nameOf);
  const enforced = ({ namespaces }: ObjectFacts, levels: readonly string[]) =>
    namespaces
      .filter(({ metadata: { name = '' } }) => !system.has(name))
      .filter(({ metadata: { labels = {} } }) => !levels.includes(labels[enforceLabel] ?? 'privileged'))
      .map(({ metadata: { name = '' } }) => name);
  const pods = (id: string, title: string, levels: readonly string[]): Check<ObjectFacts> => ({
    id,
    title,
    isManual: true,
    problem: (facts) => listed('namespaces that allow them', enforced(facts, levels)),
    remedy: `label the namespace: ${enforceLabel}=${levels[0]}`,
  });
  const baseline = ['baseline', 'restricted'] as const;
  const restricted = ['restricted'] as const;
  return [
    {
      id: '5.1.1',
      title: 'The role cluster-admin is bound where it is needed only',
      isManual: true,
      problem: ({ clusterRoleBindings }) =>
        listed(
          'bound by',
          clusterRoleBindings
            .filter(
              ({ roleRef, metadata }) =>
                roleRef.name === 'cluster-admin' && metadata.labels?.[bootstrapLabel] === undefined,
            )
            .map(({ metadata: { name = '' } }) => name),
        ),
      remedy: 'bind a smaller role',
    },
    {
      id: '5.1.2',
      title: 'Few roles can read secrets',
      isManual: true,
      problem: (facts) => listed('roles', rolesThat(facts, grants(['get', 'list', 'watch'], '', 'secrets'))),
      remedy: 'name the secrets in resourceNames, or leave them out',
    },
    {
      id: '5.1.3',
      title: 'Roles name their verbs and resources instead of *',
      isManual: true,
      problem: (facts) =>
        listed(
          'roles',
          rolesThat(facts, ({ verbs, resources = [], apiGroups = [] }) =>
            [...verbs, ...resources, ...apiGroups].includes('*'),
          ),
        ),
      remedy: 'list what is needed: orchctl why --as USER VERB RESOURCE prints the smallest role',
    },
    {
      id: '5.1.4',
      title: 'Few roles can create pods',
      isManual: true,
      problem: (facts) => listed('roles', rolesThat(facts, grants(['create'], '', 'pods'))),
      remedy: 'let people create workloads instead, whose controllers create the pods',
    },
    {
      id: '5.1.5',
      title: 'Pods do not use the default service account',
      isManual: true,
      problem: (facts) =>
        listed(
          'pods',
          podsThat(
            facts,
            ({ spec }) =>
              (spec?.serviceAccountName ?? 'default') === 'default' && spec?.automountServiceAccountToken !== false,
          ),
        ),
      remedy: 'give each workload a service account of its own',
    },
    {
      id: '5.1.6',
      title: 'Tokens of service accounts are mounted where they are needed only',
      isManual: true,
      problem: ({ accounts }) =>
        listed(
          'default accounts whose token every pod gets',
          accounts
            .filter(({ metadata: { name, namespace = '' } }) => name === 'default' && !system.has(namespace))
            .filter(({ automountServiceAccountToken }) => automountServiceAccountToken !== false)
            .map(({ metadata: { namespace = '' } }) => namespace),
        ),
      remedy: 'set automountServiceAccountToken: false on the account',
    },
    {
      id: '5.1.7',
      title: `The group ${dialect.groups.masters} is bound by the cluster itself only`,
      isManual: true,
      problem: ({ clusterRoleBindings, roleBindings }) =>
        listed(
          'bound by',
          [...clusterRoleBindings, ...roleBindings]
            .filter(
              ({ metadata, subjects = [] }) =>
                metadata.labels?.[bootstrapLabel] === undefined && subjects.some(isMasters(dialect)),
            )
            .map(({ metadata: { name = '' } }) => name),
        ),
      remedy: 'bind users and groups of your own',
    },
    {
      id: '5.1.8',
      title: 'Few roles can bind, escalate or impersonate',
      isManual: true,
      problem: (facts) =>
        listed(
          'roles',
          rolesThat(facts, ({ verbs }) => verbs.some((verb) => ['bind', 'escalate', 'impersonate'].includes(verb))),
        ),
      remedy: 'leave these verbs out',
    },
    pods('5.2.1', 'Each namespace has a level of pod security', baseline),
    pods('5.2.2', 'Privileged containers are refused', baseline),
    pods('5.2.3', 'Pods in the process namespace of the host are refused', baseline),
    pods('5.2.4', 'Pods in the IPC namespace of the host are refused', baseline),
    pods('5.2.5', 'Pods in the network of the host are refused', baseline),
    pods('5.2.6', 'Containers that can gain privileges are refused', restricted),
    pods('5.2.7', 'Containers that run as root are refused', restricted),
    pods('5.2.8', 'Containers with NET_RAW are refused', restricted),
    pods('5.2.9', 'Containers with additional capabilities are refused', baseline),
    pods('5.2.10', 'Containers that keep capabilities are refused', restricted),
    pods('5.2.11', 'Containers in the host process of Windows are refused', baseline),
    pods('5.2.12', 'Volumes of the type hostPath are refused', baseline),
    pods('5.2.13', 'Ports of the host are refused', baseline),
    { id: '5.3.1', title: 'The pod network enforces network policies' },
    {
      id: '5.3.2',
      title: 'Each namespace has a network policy',
      isManual: true,
      problem: ({ namespaces, networkPolicies }) => {
        const guarded = new Set(networkPolicies.map(({ metadata: { namespace } }) => namespace));
        const names = namespaces.map(({ metadata: { name = '' } }) => name);
        return listed(
          'namespaces without one',
          names.filter((name) => !system.has(name) && !guarded.has(name)),
        );
      },
      remedy: 'see docs/services.md',
    },
    {
      id: '5.4.1',
      title: 'Containers read secrets from files instead of environment variables',
      isManual: true,
      problem: (facts) =>
        listed(
          'pods',
          podsThat(facts, (pod) => containersOf(pod).some(hasSecretVariable)),
        ),
      remedy: 'mount the secret as a volume',
    },
    {
      id: '5.4.2',
      title: 'Secrets are kept outside of the cluster',
      isManual: true,
      problem: () => 'only a person can tell',
      remedy: 'consider an external store of secrets',
    },
    {
      id: '5.5.1',
      title: 'A webhook judges images',
      isManual: true,
      problem: () => 'only a person can tell',
      remedy: 'consider the admission plugin ImagePolicyWebhook, or a validating webhook',
    },
    {
      id: '5.7.1',
      title: 'Namespaces separate what belongs to different people',
      isManual: true,
      problem: ({ namespaces }) =>
        namespaces.some(({ metadata: { name = '' } }) => !system.has(name) && name !== 'default')
          ? undefined
          : 'there is no namespace but the first ones',
      remedy: 'create a namespace for each team',
    },
    {
      id: '5.7.2',
      title: 'Pods have the seccomp profile of the runtime',
      isManual: true,
      problem: (facts) =>
        listed(
          'pods without one',
          podsThat(facts, (pod) => !containersOf(pod).every((container) => hasProfile(pod, container))),
        ),
      remedy: 'set securityContext.seccompProfile.type: RuntimeDefault',
    },
    {
      id: '5.7.3',
      title: 'Pods and containers have a security context',
      isManual: true,
      problem: (facts) =>
        listed(
          'pods without one',
          podsThat(facts, (pod) =>
            containersOf(pod).some(
              ({ securityContext }) => isEmpty(securityContext) && isEmpty(pod.spec?.securityContext),
            ),
          ),
        ),
      remedy: 'set securityContext: runAsNonRoot, allowPrivilegeEscalation and capabilities',
    },
    {
      id: '5.7.4',
      title: 'The namespace default is not used',
      isManual: true,
      problem: (facts) =>
        listed(
          'pods in it',
          podsThat(facts, ({ metadata }) => metadata.namespace === 'default'),
        ),
      remedy: 'create a namespace for them',
    },
  ];
}

const isMasters =
  (dialect: Dialect) =>
  ({ kind, name }: Subject) =>
    kind === 'Group' && name === dialect.groups.masters;

function containersOf({ spec }: Pod): readonly Container[] {
  return [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])];
}

function hasSecretVariable({ env = [], envFrom = [] }: Container): boolean {
  return (
    env.some(({ valueFrom }) => valueFrom?.secretKeyRef !== undefined) ||
    envFrom.some(({ secretRef }) => secretRef !== undefined)
  );
}

function hasProfile({ spec }: Pod, { securityContext }: Container): boolean {
  const type = securityContext?.seccompProfile?.type ?? spec?.securityContext?.seccompProfile?.type ?? 'Unconfined';
  return type !== 'Unconfined';
}

function isEmpty(context: object | undefined): boolean {
  return context === undefined || Object.keys(context).length === 0;
}
