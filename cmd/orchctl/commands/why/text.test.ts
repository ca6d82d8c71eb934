/** Checks that orchctl prints the example in the documentation. */
import { readFileSync } from 'node:fs';
import t from 'tap';
import type { Pod } from '#api/core/v1/types.gen.js';
import { realClock } from '#apimachinery/clock.js';
import { orchDialect as dialect } from '#apimachinery/dialect.js';
import { copiesText, explanationText, leavingText } from '#cmd/orchctl/commands/why/text.js';
import { noObjects } from '#scheduler/cluster/objects.js';
import { explain } from '#scheduler/explain/explain.js';
import { ClusterCopy, Pace } from '#scheduler/explain/snapshot.js';
import { defaultProfile } from '#scheduler/plugins/profiles.js';

t.test('prints an explanation', async (t) => {
  const profile = defaultProfile(dialect);
  const allocatable = { cpu: '4', memory: '8Gi', pods: '110' };
  const nodes = [{ metadata: { name: 'node-1' }, spec: {}, status: { allocatable } }];
  const snapshot = { nodes, placed: [], nominated: [], objects: noObjects };
  const copy = await ClusterCopy.of(snapshot, dialect, new Pace(realClock));
  const pod: Pod = {
    metadata: { namespace: 'default', name: 'large', uid: 'large' },
    spec: {
      schedulerName: profile.schedulerName,
      containers: [{ name: 'main', image: 'web', resources: { requests: { cpu: '9' } } }],
    },
  };
  const text = explanationText(await explain(pod, { copy, dialect, profiles: [profile], scores: 5 }));
  const file = new URL('../../../../../docs/scheduler.md', import.meta.url);
  const [, example] = /\$ orchctl why pod large\n([\s\S]*?)```/.exec(readFileSync(file, 'utf8')) ?? [];
  t.equal(text, example);
});

t.test('prints forecasts', async (t) => {
  t.equal(
    copiesText({ requested: 9, fit: 3, nodes: [{ node: 'a', copies: 3 }], message: 'no room' }),
    '3 of 9 copies fit.\n\nNODE   COPIES\na      3\n\nThe next one does not: no room\n',
  );
  t.equal(
    leavingText({ node: 'a', moves: [{ namespace: 'x', name: 'p', outcome: 'Moves', to: 'b' }] }, true),
    'If a were drained:\nNAMESPACE   NAME   OUTCOME   TO OR WHY\nx           p      Moves     b\n',
  );
});
