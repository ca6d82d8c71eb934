import t from 'tap';
import { findingsOf, type UpgradeFacts } from '#cluster/upgrade/findings.js';

const fine: UpgradeFacts = {
  own: 'v1.25.1',
  running: 'v1.24.0',
  isRollback: false,
  role: 'server',
  nodes: [{ name: 'a', version: 'v1.24.0', isReady: true }],
  stored: { objects: 3, encrypted: 1, unreadable: [], unknownTypes: [] },
  etcd: { alarms: [], away: [] },
  deprecated: [],
  disk: { folder: '/backups', free: 100e6, needed: 10e6 },
};

const texts = (facts: Partial<UpgradeFacts>) =>
  findingsOf({ ...fine, ...facts }).map(({ blocks, what }) => `${blocks ? 'blocks: ' : ''}${what}`);

t.test('an allowed upgrade has no findings', async (t) => {
  t.same(texts({}), []);
  t.same(texts({ own: 'v1.24.0' }), [], 'the same release again');
  t.same(texts({ stored: undefined, etcd: undefined, disk: undefined }), []);
  t.same(texts({ role: 'node', own: 'v1.22.9', nodes: [] }), [], 'an agent that is two minor releases behind');
});

const rows: [string, Partial<UpgradeFacts>, RegExp][] = [
  ['two minor releases at once', { own: 'v1.26.0' }, /^blocks: from v1.24.0 to v1.26.0 are 2 minor releases$/],
  ['another major release', { own: 'v2.0.0', nodes: [] }, /^blocks: .* are different major releases$/],
  ['back without --rollback', { own: 'v1.23.5', nodes: [] }, /^blocks: v1.23.5 is older than the running v1.24.0$/],
  ['back by two', { own: 'v1.22.0', isRollback: true, nodes: [] }, /^blocks: .* is more than one minor release$/],
  ['no release', { running: 'latest' }, /^blocks: the API server says that it is "latest"/],
  ['a node ahead', { role: 'node' }, /^blocks: this node would be v1.25.1, ahead of its API server/],
  ['a node far behind', { role: 'node', own: 'v1.21.0' }, /^blocks: .* more than 2 minor releases behind/],
  [
    'an agent far behind',
    { nodes: [{ name: 'b', version: 'v1.22.0', isReady: true }] },
    /^blocks: node b runs v1.22.0/,
  ],
  [
    'an agent ahead',
    { own: 'v1.24.0', running: 'v1.25.0', isRollback: true, nodes: [{ name: 'b', version: 'v1.25.0', isReady: true }] },
    /^blocks: node b runs v1.25.0, ahead of v1.24.0$/,
  ],
  ['an agent away', { nodes: [{ name: 'b', version: 'v1.24.0', isReady: false }] }, /^node b is not Ready$/],
  ['an alarm', { etcd: { alarms: ['NOSPACE'], away: [] } }, /^blocks: etcd has raised NOSPACE$/],
  ['a member away', { etcd: { alarms: [], away: ['two'] } }, /^blocks: these members .* two$/],
  [
    'a full disk',
    { disk: { folder: '/b', free: 1e6, needed: 3e6 } },
    /^blocks: .* needs 3 MB in \/b, where 1 MB are free$/,
  ],
  [
    'unreadable objects',
    {
      stored: {
        ...{ objects: 9, encrypted: 0, unknownTypes: [] },
        unreadable: Array.from({ length: 7 }, (_, n) => ({ key: `/k${n}`, problem: 'no' })),
      },
    },
    /^blocks: v1.25.1 cannot read \/k0 \(no\), .* \/k4 \(no\) and 2 more$/,
  ],
  [
    'unknown types',
    { stored: { objects: 9, encrypted: 0, unreadable: [], unknownTypes: [{ type: 'a/v1 B', objects: 4 }] } },
    /^blocks: 4 objects are stored as a\/v1 B, which v1.25.1 does not know$/,
  ],
  [
    'requests to a removed API',
    { deprecated: [{ name: 'cronjobs.batch/v1beta1', removedIn: 'v1.25' }] },
    /^cronjobs.batch\/v1beta1 was requested, which v1.25 and later do not serve$/,
  ],
];

for (const [name, facts, expected] of rows)
  t.test(`finding: ${name}`, async (t) => {
    const all = texts(facts);
    t.equal(all.length, 1, all.join('\n'));
    t.match(all[0], expected);
  });

t.test('APIs that are removed later are no finding, and blocking findings come first', async (t) => {
  t.same(texts({ deprecated: [{ name: 'x', removedIn: 'v1.26' }] }), []);
  const both = texts({
    nodes: [{ name: 'b', version: 'v1.25.1', isReady: false }],
    etcd: { alarms: ['CORRUPT'], away: [] },
  });
  t.same(
    both.map((text) => text.startsWith('blocks')),
    [true, false],
  );
});
