/** Garbage collection, namespace deletion, service accounts, roles, and finished pods. */
import {
  create,
  deployment,
  manifest,
  patch,
  pod,
  pods,
  remove,
  situation,
  statefulSet,
} from '#test/integration/controllers/peer/manifests.js';
import type { JsonObject, Manifest, Situation } from '#test/integration/controllers/peer/situation.js';

const map = (name: string, metadata: JsonObject = {}): Manifest => manifest('v1', 'ConfigMap', name, { metadata });
const absentUID = '11111111-2222-3333-4444-555555555555';
const absent = (name: string, more: JsonObject = {}): JsonObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  name,
  uid: absentUID,
  ...more,
});
const policies = ['Background', 'Foreground', 'Orphan'] as const;

const garbage: readonly Situation[] = [
  situation('garbage/absent-owner', create(map('a', { ownerReferences: [absent('gone')] }))),
  situation('garbage/wrong-uid', create(map('owner')), create(map('a', { ownerReferences: [absent('owner')] }))),
  situation(
    'garbage/two-absent-owners',
    create(map('a', { ownerReferences: [absent('x'), absent('y', { uid: '21111111-2222-3333-4444-555555555555' })] })),
  ),
  situation(
    'garbage/owner-of-cluster',
    create(map('a', { ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: '$ns.none', uid: absentUID }] })),
  ),
  situation(
    'garbage/owner-of-unknown-kind',
    create(map('a', { ownerReferences: [{ apiVersion: 'example.com/v1', kind: 'Thing', name: 't', uid: absentUID }] })),
  ),
  situation(
    'garbage/finalizer-of-dependent',
    create(map('a', { finalizers: ['example.com/wait'], ownerReferences: [absent('gone')] })),
    patch('ConfigMap/a', { metadata: { finalizers: null } }),
  ),
  ...policies.flatMap((policy) => [
    situation(
      `garbage/chain-${policy.toLowerCase()}`,
      create(
        deployment(
          'web',
          { replicas: 1 },
          {
            metadata: { labels: { app: 'web' } },
            spec: { terminationGracePeriodSeconds: 30, containers: [{ name: 'c', image: 'i' }] },
          },
        ),
      ),
      pods('ready'),
      remove('Deployment/web', policy),
    ),
    situation(
      `garbage/lingering-pods-${policy.toLowerCase()}`,
      create(
        deployment(
          'web',
          { replicas: 1 },
          {
            metadata: { labels: { app: 'web', lingers: 'yes' } },
            spec: { terminationGracePeriodSeconds: 300, containers: [{ name: 'c', image: 'i' }] },
          },
        ),
      ),
      pods('ready'),
      remove('Deployment/web', policy),
    ),
    situation(
      `garbage/own-finalizer-${policy.toLowerCase()}`,
      create({ ...deployment('web', { replicas: 1 }), metadata: { name: 'web', finalizers: ['example.com/wait'] } }),
      pods('ready'),
      remove('Deployment/web', policy),
      patch('Deployment/web', { metadata: { finalizers: null } }),
    ),
    situation(
      `garbage/replicaset-of-two-${policy.toLowerCase()}`,
      create(deployment('web', { replicas: 2 }), statefulSet('db', { replicas: 1 })),
      pods('ready'),
      remove('StatefulSet/db', policy),
      remove('Deployment/web', policy),
    ),
  ]),
];

const ends: readonly Situation[] = [
  situation('namespace/empty', remove('Namespace/$ns')),
  situation(
    'namespace/with-workloads',
    create(deployment('web', { replicas: 2 }), map('m'), manifest('v1', 'Secret', 's')),
    pods('ready'),
    remove('Namespace/$ns'),
  ),
  situation(
    'namespace/with-finalizer',
    create(map('m', { finalizers: ['example.com/wait'] })),
    remove('Namespace/$ns'),
  ),
  situation(
    'namespace/with-two-finalizers',
    create(
      map('m', { finalizers: ['example.com/wait'] }),
      pod('p', {}, {}, { finalizers: ['example.com/other', 'example.com/wait'] }),
    ),
    remove('Namespace/$ns'),
  ),
  situation(
    'namespace/own-metadata-finalizer',
    patch('Namespace/$ns', { metadata: { finalizers: ['example.com/ns'] } }),
    remove('Namespace/$ns'),
  ),
];

const account = (name: string, more: JsonObject = {}): Manifest => manifest('v1', 'ServiceAccount', name, more);
const token = (name: string, of: string, more: JsonObject = {}): Manifest =>
  manifest('v1', 'Secret', name, {
    type: 'kubernetes.io/service-account-token',
    metadata: { annotations: { 'kubernetes.io/service-account.name': of }, ...more },
  });

const identities: readonly Situation[] = [
  { ...situation('account/what-all-have', create(map('m'))), whole: true },
  { ...situation('account/default-deleted', remove('ServiceAccount/default')), whole: true },
  { ...situation('account/root-ca-deleted', remove('ConfigMap/kube-root-ca.crt')), whole: true },
  {
    ...situation(
      'account/root-ca-changed',
      patch('ConfigMap/kube-root-ca.crt', { data: { 'ca.crt': 'x', more: 'y' } }),
      patch('ConfigMap/kube-root-ca.crt', { metadata: { annotations: null } }),
    ),
    whole: true,
  },
  situation('account/token', create(account('robot')), create(token('t', 'robot'))),
  situation('account/token-of-none', create(token('t', 'absent'))),
  situation(
    'account/token-then-account-deleted',
    create(account('robot')),
    create(token('t', 'robot')),
    remove('ServiceAccount/robot'),
  ),
  situation(
    'account/token-emptied',
    create(account('robot')),
    create(token('t', 'robot')),
    patch('Secret/t', { data: { token: null, 'ca.crt': null } }),
  ),
  situation(
    'account/token-deleted',
    create(account('robot', { secrets: [{ name: 't' }, { name: 'other' }] })),
    create(token('t', 'robot')),
    remove('Secret/t'),
  ),
  situation(
    'account/account-recreated',
    create(account('robot')),
    create(token('t', 'robot')),
    remove('ServiceAccount/robot'),
    create(account('robot')),
  ),
];

const role = (name: string, more: JsonObject): Manifest =>
  manifest('rbac.authorization.k8s.io/v1', 'ClusterRole', name, more);
const rules = (resource: string): JsonObject => ({
  rules: [{ apiGroups: [''], resources: [resource], verbs: ['get'] }],
});
const whole = (...selectors: JsonObject[]): Manifest =>
  role('$ns.whole', {
    rules: [],
    aggregationRule: { clusterRoleSelectors: selectors.map((matchLabels) => ({ matchLabels })) },
  });

const roles: readonly Situation[] = [
  situation(
    'role/aggregates',
    create(whole({ part: '$ns' })),
    create(
      role('$ns.b', { metadata: { labels: { part: '$ns' } }, ...rules('pods') }),
      role('$ns.a', { metadata: { labels: { part: '$ns' } }, ...rules('secrets') }),
    ),
  ),
  situation(
    'role/several-selectors',
    create(
      role('$ns.a', { metadata: { labels: { part: '$ns', also: '$ns' } }, ...rules('pods') }),
      role('$ns.b', { metadata: { labels: { also: '$ns' } }, ...rules('services') }),
    ),
    create(whole({ part: '$ns' }, { also: '$ns' })),
  ),
  situation(
    'role/part-changed',
    create(whole({ part: '$ns' }), role('$ns.a', { metadata: { labels: { part: '$ns' } }, ...rules('pods') })),
    patch('ClusterRole/$ns.a', rules('secrets')),
    patch('ClusterRole/$ns.a', { metadata: { labels: { part: 'no' } } }),
  ),
  situation(
    'role/part-deleted',
    create(whole({ part: '$ns' }), role('$ns.a', { metadata: { labels: { part: '$ns' } }, ...rules('pods') })),
    remove('ClusterRole/$ns.a'),
  ),
  situation(
    'role/own-rules-replaced',
    create(whole({ part: '$ns' }), role('$ns.a', { metadata: { labels: { part: '$ns' } }, ...rules('pods') })),
    patch('ClusterRole/$ns.whole', rules('nodes')),
  ),
];

export const owners: readonly Situation[] = [...garbage, ...ends, ...identities, ...roles];
