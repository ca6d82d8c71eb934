import { orchDialect as dialect } from '#apimachinery/dialect.js';
import { selectorSpread } from '#scheduler/plugins/selector-spread.js';
import { node, scores, table } from '#scheduler/testing/plugin-table.js';

const { region, zone } = dialect.labels;
const web = { app: 'web' };
const constraint = { maxSkew: 1, topologyKey: zone, whenUnsatisfiable: 'ScheduleAnyway' };

/** Nodes a, b and c with their number of pods of the service; zones by node. */
function ask(
  pods: readonly number[],
  zones: readonly string[] = [],
  more: object = {},
  selected?: typeof web,
): number[] {
  const names = ['a', 'b', 'c'];
  return scores(
    selectorSpread(dialect),
    { labels: web, ...more },
    {
      nodes: names.map((name, i) => node(name, zones[i] === undefined ? {} : { [region]: 'r', [zone]: zones[i] })),
      pods: names.flatMap((on, i) =>
        Array.from({ length: pods[i] ?? 0 }, (_, j) => ({ name: `${on}-${j}`, on, labels: web })),
      ),
      ...(selected === undefined ? {} : { selected }),
    },
  );
}

table('nodes with fewer pods score higher', ask, [
  ['nothing selects the pod', [1, 2, 0], [], {}, undefined, [0, 0, 0]],
  ['the selector matches no pods', [0, 0, 0], [], {}, web, [100, 100, 100]],
  ['by node', [4, 2, 0], [], {}, web, [0, 50, 100]],
  ['by node and zone', [2, 0, 1], ['x', 'x', 'y'], {}, web, [0, 33, 50]],
  ['a node without a zone', [2, 1, 0], ['x', 'x'], {}, web, [0, 16, 100]],
  ['a pod with constraints', [4, 2, 0], [], { spec: { topologySpreadConstraints: [constraint] } }, web, [0, 0, 0]],
  ['pods of another namespace', [4, 2, 0], [], { namespace: 'other' }, web, [100, 100, 100]],
]);
