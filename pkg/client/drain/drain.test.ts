import t from 'tap';
import type { Pod } from '#api/core/v1/types.gen.js';
import { orchDialect as dialect } from '#apimachinery/dialect.js';
import { planDrain } from '#client/drain/drain.js';

const owned = (kind: string) => [{ apiVersion: 'apps/v1', kind, name: 'o', uid: 'u', controller: true }];
const pod = (name: string, more: Partial<Pod['metadata']> = {}, volumes: Pod['spec']['volumes'] = []): Pod => ({
  metadata: { name, namespace: 'a', ...more },
  spec: { containers: [], volumes },
});
const over = (of: Pod): Pod => ({ ...of, status: { phase: 'Succeeded' } });

const replicated = pod('replicated', { ownerReferences: owned('ReplicaSet') });
const daemon = pod('daemon', { ownerReferences: owned('DaemonSet') });
const orphan = pod('orphan');
const mirror = pod('mirror', { annotations: { [dialect.annotations.configMirror]: 'x' } });
const withData = pod('data', { ownerReferences: owned('ReplicaSet') }, [{ name: 'v', emptyDir: {} }]);
const careful = { ignoreDaemonSets: false, deleteEmptyDirData: false, force: false };

t.test('plans evictions, warnings and obstacles', (t) => {
  const rows: [
    name: string,
    pods: Pod[],
    policy: object,
    evicted: string[],
    obstacles: RegExp[],
    warnings: RegExp[],
  ][] = [
    ['replicated ones', [replicated], {}, ['replicated'], [], []],
    ['no static ones', [mirror], {}, [], [], []],
    ['none of daemon sets', [daemon], {}, [], [/use --ignore-daemonsets to ignore\): a\/daemon/], []],
    ['none of daemon sets, as wanted', [daemon], { ignoreDaemonSets: true }, [], [], [/ignoring DaemonSet.*a\/daemon/]],
    ['pods that no controller recreates', [orphan], {}, ['orphan'], [/use --force to override\): a\/orphan/], []],
    ['that, by force', [orphan], { force: true }, ['orphan'], [], [/declare no controller: a\/orphan/]],
    ['data', [withData], {}, ['data'], [/use --delete-emptydir-data to override\): a\/data/], []],
    ['data, as wanted', [withData], { deleteEmptyDirData: true }, ['data'], [], [/local storage: a\/data/]],
    ['what is over', [over(orphan), over(daemon), over(withData)], {}, ['orphan', 'daemon', 'data'], [], []],
  ];
  for (const [name, pods, policy, evicted, obstacles, warnings] of rows) {
    const plan = planDrain(dialect, pods, { ...careful, ...policy });
    t.same(
      plan.evicted.map(({ metadata }) => metadata.name),
      evicted,
      name,
    );
    t.match(plan.obstacles, obstacles, name);
    t.equal(plan.obstacles.length, obstacles.length, name);
    t.match(plan.warnings, warnings, name);
  }
  t.end();
});
