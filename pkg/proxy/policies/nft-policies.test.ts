import t from 'tap';
import type { Pod } from '#api/core/v1/types.gen.js';
import { podTable } from '#proxy/policies/nft-policies.js';
import { type PolicyContext, planPod } from '#proxy/policies/policy-rules.js';
import { contextOf as context, samplePod as pod, samplePolicy as policy } from '#proxy/policies/testing/samples.js';

function table(subject: Pod, where: PolicyContext) {
  const plan = planPod(subject, where);
  return plan === undefined ? { chains: [], elements: [] } : podTable(plan);
}

/** Rules of a pod's policies, without set names. */
function rules(subject: Pod, where: PolicyContext, direction: 'ingress' | 'egress'): string[] | undefined {
  const { chains, elements } = table(subject, where);
  const leads = elements.find(({ set }) => set === `${direction}4`)?.data;
  const own = chains.find(({ name }) => leads === `goto ${name}`);
  if (own === undefined) return undefined;
  return own.rules.flatMap((rule) => {
    const jumped = chains.find(({ name }) => rule === `jump ${name}`);
    return (jumped?.rules ?? [rule]).map((text) => text.replace(/-[0-9a-f]{12}/g, ''));
  });
}

t.test('policy types', (t) => {
  const all = { podSelector: {} };
  for (const { spec, ingress, egress } of [
    { spec: all, ingress: true, egress: false },
    { spec: { ...all, egress: [{}] }, ingress: true, egress: true },
    { spec: { ...all, policyTypes: ['Egress'] }, ingress: false, egress: true },
    { spec: { ...all, policyTypes: ['Ingress', 'Egress'] }, ingress: true, egress: true },
  ]) {
    const where = context(policy(spec));
    t.equal(rules(pod({}), where, 'ingress') !== undefined, ingress, JSON.stringify(spec));
    t.equal(rules(pod({}), where, 'egress') !== undefined, egress, JSON.stringify(spec));
  }
  t.end();
});

t.test('isolated pods', (t) => {
  const where = context(policy({ podSelector: { matchLabels: { app: 'db' } } }));
  t.same(rules(pod({ app: 'db' }), where, 'ingress'), ['drop']);
  t.equal(rules(pod({ app: 'web' }), where, 'ingress'), undefined, 'another label');
  t.equal(rules(pod({ app: 'db' }, { namespace: 'other' }), where, 'ingress'), undefined, 'another namespace');
  t.equal(rules(pod({ app: 'db' }, { nodeName: 'there' }), where, 'ingress'), undefined, 'another node');
  t.equal(planPod({ ...pod({}), spec: { ...pod({}).spec, hostNetwork: true } }, where), undefined, 'no own network');
  t.end();
});

t.test('ingress', (t) => {
  const where = context(
    policy({
      podSelector: {},
      ingress: [
        { from: [{ podSelector: { matchLabels: { app: 'web' } } }], ports: [{ port: 'http' }, { port: 'none' }] },
        {
          from: [{ ipBlock: { cidr: '192.0.2.0/24', except: ['192.0.2.128/25'] } }],
          ports: [{ port: 53, protocol: 'UDP' }, { port: 8000, endPort: 8100 }, { protocol: 'SCTP' }],
        },
        {},
      ],
    }),
  );
  t.same(rules(pod({ app: 'web' }), where, 'ingress'), [
    'ip saddr @pods4 tcp dport 8080 accept',
    'ip6 saddr @pods6 tcp dport 8080 accept',
    'ip saddr 192.0.2.0/24 ip saddr != 192.0.2.128/25 udp dport 53 accept',
    'ip saddr 192.0.2.0/24 ip saddr != 192.0.2.128/25 tcp dport 8000-8100 accept',
    'ip saddr 192.0.2.0/24 ip saddr != 192.0.2.128/25 meta l4proto sctp accept',
    'accept',
    'drop',
  ]);
  t.end();
});

t.test('egress', (t) => {
  const where = context(
    policy({
      podSelector: {},
      policyTypes: ['Egress'],
      egress: [
        { to: [{ namespaceSelector: { matchLabels: { name: 'other' } }, podSelector: {} }], ports: [{ port: 'http' }] },
        { ports: [{ port: 53, protocol: 'UDP' }] },
      ],
    }),
  );
  t.same(rules(pod({}), where, 'egress'), [
    'ip daddr . meta l4proto . th dport @ports4 accept',
    'ip6 daddr . meta l4proto . th dport @ports6 accept',
    'udp dport 53 accept',
    'drop',
  ]);
  const { elements } = table(pod({}, { namespace: 'other', nodeName: 'there', ips: ['10.0.0.9'] }), where);
  t.same(
    elements.map(({ set, key }) => `${set.slice(0, 6)} ${key}`),
    ['ports4 10.0.0.9 . tcp . 8080'],
    'the number is that of the pod that is reached',
  );
  t.end();
});

t.test('several policies: each may allow a packet', (t) => {
  const from = (app: string) =>
    policy({ podSelector: {}, ingress: [{ from: [{ podSelector: { matchLabels: { app } } }] }] });
  const where = context(from('a'), from('b'));
  t.equal(rules(pod({}), where, 'ingress')?.length, 5);
  const { elements } = table(pod({ app: 'a' }), where);
  t.equal(
    elements.filter(({ set }) => set.startsWith('pods4')).length,
    1,
    'a pod is in the sets of the selections that match it',
  );
  t.end();
});

t.test('many exceptions become one comparison of disjoint ranges', (t) => {
  const except = ['192.0.2.0/26', '192.0.2.64/26', '192.0.2.0/27', '192.0.2.200/32'];
  const where = context(
    policy({ podSelector: {}, ingress: [{ from: [{ ipBlock: { cidr: '192.0.2.0/24', except } }] }] }),
  );
  t.same(rules(pod({}), where, 'ingress'), [
    'ip saddr 192.0.2.0/24 ip saddr != { 192.0.2.0/26, 192.0.2.64/26, 192.0.2.200 } accept',
    'drop',
  ]);
  t.end();
});

t.test('a policy with too many combinations blocks all traffic', (t) => {
  const from = Array.from({ length: 200 }, (_, i) => ({ ipBlock: { cidr: `10.0.${i}.0/24` } }));
  const ports = (count: number) => Array.from({ length: count }, (_, i) => ({ port: i + 1 }));
  const ruled = (count: number) => {
    const big = policy({ podSelector: {}, ingress: [{ from, ports: ports(count) }] });
    const [compiled] = context(big).policies;
    return { problem: compiled?.problem, rules: rules(pod({}), context(big), 'ingress')?.length };
  };
  t.same(ruled(100), { problem: undefined, rules: 20_001 });
  t.same(ruled(101), { problem: 'it has 20200 combinations of peers and ports, and 20000 are the most', rules: 1 });
  t.end();
});
