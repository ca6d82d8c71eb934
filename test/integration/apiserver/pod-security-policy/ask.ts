/** Sends the cases to a server and collects its answers, of this implementation or another. */
import { type Case, cases } from '#test/integration/apiserver/pod-security-policy/cases.js';

// biome-ignore lint/suspicious/noExplicitAny: as the server answers
type Any = any;

/** The administrator, a user who may write pods and use all policies, and another: their names are their tokens. */
type Who = 'admin' | 'alice' | 'bob';

/** A request in JSON. */
export type Send = (who: Who, method: string, path: string, body?: object) => Promise<{ status: number; body: Any }>;

/** By case and pod: the refusal, or what the admitted pod has that it had not before. */
export type Answers = Record<string, Record<string, unknown>>;

const policies = '/apis/policy/v1beta1/podsecuritypolicies';
const pods = '/api/v1/namespaces/default/pods';

/** Allows the user to create pods and to use all policies. */
export async function grant(send: Send, rbac: string): Promise<void> {
  const rules = [
    { apiGroups: [''], resources: ['pods'], verbs: ['create', 'update', 'patch'] },
    { apiGroups: ['policy'], resources: ['podsecuritypolicies'], verbs: ['use'] },
  ];
  const path = `/apis/${rbac}/v1/clusterroles`;
  await send('admin', 'POST', path, {
    apiVersion: `${rbac}/v1`,
    kind: 'ClusterRole',
    metadata: { name: 'pods' },
    rules,
  });
  await send('admin', 'POST', path.replace('clusterroles', 'clusterrolebindings'), {
    apiVersion: `${rbac}/v1`,
    kind: 'ClusterRoleBinding',
    metadata: { name: 'pods' },
    roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: 'pods' },
    subjects: [{ apiGroup: rbac, kind: 'User', name: 'alice' }],
  });
}

/** `settled` resolves when the server's caches have the policies. */
export async function ask(send: Send, settled: () => Promise<void>): Promise<Answers> {
  const answers: Answers = {};
  for (const [name, one] of Object.entries(cases)) answers[name] = await askOne(send, settled, one);
  return answers;
}

async function askOne(send: Send, settled: () => Promise<void>, one: Case): Promise<Record<string, unknown>> {
  const answers: Record<string, unknown> = {};
  for (const { name, spec, annotations } of one.policies) {
    const body = { apiVersion: 'policy/v1beta1', kind: 'PodSecurityPolicy', metadata: { name, annotations }, spec };
    const { status, body: answer } = await send('admin', 'POST', policies, body);
    if (status !== 201) answers[`policy ${name}`] = answer.message;
  }
  await settled();
  for (const [name, { spec, annotations }] of Object.entries(one.pods)) {
    const body = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'pod', ...(annotations && { annotations }) },
      spec: { containers: [{ name: 'c', image: 'i' }], ...spec },
    };
    const { status, body: answer } = await send('alice', 'POST', `${pods}?dryRun=All`, body);
    answers[name] = status === 201 ? shown(answer) : `${status} ${answer.message}`;
  }
  for (const { name } of one.policies) await send('admin', 'DELETE', `${policies}/${name}`);
  await settled();
  return answers;
}

/** The parts of a pod that policies change. */
function shown({ metadata, spec }: Any): unknown {
  const { securityContext, runtimeClassName, initContainers = [], containers } = spec;
  return {
    annotations: metadata.annotations,
    securityContext,
    ...(runtimeClassName && { runtimeClassName }),
    containers: [...initContainers, ...containers].map((one: Any) => one.securityContext ?? {}),
  };
}
