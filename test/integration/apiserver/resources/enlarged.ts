/** The tests' small objects enlarged by as many bytes as a test needs. */
import type { Draft } from '#test/integration/apiserver/resources/resource-case.js';

type Fields = Record<string, unknown>;

/** Adds parts of a few dozen bytes with their number, so that all differ. */
type Grow = (draft: Draft, number: number) => void;

const label = (number: number) => `a-long-value-of-a-label-that-takes-some-bytes-${number}`;

/** The member of that name, created if absent. */
function inside(owner: unknown, ...path: readonly string[]): Fields {
  let value = owner as Fields;
  for (const name of path) {
    value[name] ??= {};
    value = value[name] as Fields;
  }
  return value;
}

function list(owner: unknown, name: string): unknown[] {
  const fields = owner as Fields;
  fields[name] ??= [];
  return fields[name] as unknown[];
}

const inMap =
  (...path: readonly string[]): Grow =>
  (draft, number) => {
    inside(draft, ...path)[`key-${number}`] = label(number);
  };

const inList =
  (path: readonly string[], name: string, element: (number: number) => unknown): Grow =>
  (draft, number) =>
    void list(inside(draft, ...path), name).push(element(number));

/** A text of unlimited length. */
const inText =
  (path: readonly string[], name: string): Grow =>
  (draft, number) => {
    const owner = inside(draft, ...path);
    owner[name] = `${(owner[name] as string | undefined) ?? ''}-${label(number)}`;
  };

const inContainer =
  (...path: readonly string[]): Grow =>
  (draft, number) => {
    const [container] = list(inside(draft, ...path), 'containers');
    list(container, 'env').push({ name: `NAME_${number}`, value: label(number) });
  };

const template = inContainer('spec', 'template', 'spec');
const autoscaler = inText(['spec', 'scaleTargetRef'], 'name');
const subject = (number: number) => ({ kind: 'ServiceAccount', name: `account-${number}`, namespace: 'default' });
const rule = (number: number) => ({ apiGroups: [''], resources: [`resource-${number}`], verbs: ['get', 'list'] });
const webhookRules: Grow = (draft, number) => {
  const [webhook] = list(draft, 'webhooks');
  list(webhook, 'rules').push({
    operations: ['CREATE'],
    apiGroups: [`group-${number}.example.com`],
    apiVersions: ['v1'],
    resources: ['things'],
  });
};

/** By resource, and by group if two groups share a name. */
const growth: Readonly<Record<string, Grow>> = {
  clusterrolebindings: inList([], 'subjects', subject),
  clusterroles: inList([], 'rules', rule),
  configmaps: inMap('data'),
  controllerrevisions: inMap('data', 'spec'),
  cronjobs: inContainer('spec', 'jobTemplate', 'spec', 'template', 'spec'),
  csidrivers: inList(['spec'], 'tokenRequests', (number) => ({ audience: `https://${label(number)}.example.com` })),
  csinodes: inList(['spec'], 'drivers', (number) => ({ name: `d${number}.example.com`, nodeID: label(number) })),
  csistoragecapacities: inMap('nodeTopology', 'matchLabels'),
  customresourcedefinitions: (draft, number) => {
    const [version] = list(inside(draft, 'spec'), 'versions');
    inside(version, 'schema', 'openAPIV3Schema', 'properties')[`p${number}`] = {
      type: 'string',
      description: label(number),
    };
  },
  daemonsets: template,
  deployments: template,
  endpoints: (draft, number) => {
    const [subset] = list(draft, 'subsets');
    list(subset, 'addresses').push({ ip: address(number), nodeName: `node-${number}` });
  },
  endpointslices: inList([], 'endpoints', (number) => ({ addresses: [address(number)], nodeName: label(number) })),
  flowschemas: (draft, number) => {
    const [rules] = list(inside(draft, 'spec'), 'rules');
    list(rules, 'subjects').push({ kind: 'User', user: { name: label(number) } });
  },
  horizontalpodautoscalers: autoscaler,
  ingressclasses: (draft, number) => {
    const { spec } = draft as unknown as { spec: Fields };
    spec['parameters'] ??= { apiGroup: 'example.com', kind: 'Parameters', name: 'a', scope: 'Cluster' };
    inText(['spec', 'parameters'], 'name')(draft, number);
  },
  ingresses: inList(['spec'], 'tls', (number) => ({ hosts: [`h${number}.example.com`], secretName: `s${number}` })),
  jobs: template,
  leases: inText(['spec'], 'holderIdentity'),
  limitranges: (draft, number) => {
    const [limit] = list(inside(draft, 'spec'), 'limits');
    inside(limit, 'max')[`example.com/resource-${number}`] = '2';
  },
  mutatingwebhookconfigurations: webhookRules,
  namespaces: inList(['spec'], 'finalizers', (number) => `example.com/finalizer-${number}`),
  networkpolicies: inMap('spec', 'podSelector', 'matchLabels'),
  nodes: inList(['spec'], 'taints', (number) => ({
    key: `example.com/k${number}`,
    value: label(number),
    effect: 'NoSchedule',
  })),
  persistentvolumeclaims: inMap('spec', 'selector', 'matchLabels'),
  persistentvolumes: inList(['spec'], 'mountOptions', label),
  poddisruptionbudgets: inMap('spec', 'selector', 'matchLabels'),
  pods: inContainer('spec'),
  podsecuritypolicies: inList(['spec'], 'allowedHostPaths', (number) => ({ pathPrefix: `/${label(number)}` })),
  podtemplates: inContainer('template', 'spec'),
  replicasets: template,
  replicationcontrollers: template,
  resourcequotas: (draft, number) => {
    inside(draft, 'spec', 'hard')[`count/things-${number}.example.com`] = '10';
  },
  rows: inMap('spec', 'texts'),
  rolebindings: inList([], 'subjects', subject),
  roles: inList([], 'rules', rule),
  runtimeclasses: inMap('scheduling', 'nodeSelector'),
  secrets: (draft, number) => {
    inside(draft, 'data')[`key-${number}`] = Buffer.from(label(number)).toString('base64');
  },
  serviceaccounts: inList([], 'secrets', (number) => ({ name: `secret-${number}` })),
  services: inMap('spec', 'selector'),
  statefulsets: template,
  storageclasses: inText(['parameters'], 'key'),
  validatingwebhookconfigurations: webhookRules,
};

/** Kinds whose parts are all bounded. */
const inAnnotations = inMap('metadata', 'annotations');

function address(number: number): string {
  return `10.1.${number >> 8}.${number & 0xff}`;
}

/** The draft, changed in place, with at least this many additional bytes. */
export function enlarged(draft: Draft, resource: string, bytes: number): Draft {
  const grow = growth[resource] ?? inAnnotations;
  const start = JSON.stringify(draft).length;
  const step = Math.max(1, Math.floor(bytes / 500));
  for (let number = 1; number < bytes; number++) {
    grow(draft, number);
    if (number % step === 0 && JSON.stringify(draft).length - start >= bytes) break;
  }
  return draft;
}
