import { podInfo } from '#scheduler/cluster/pod-info.js';
import { byPriority } from '#scheduler/queue/scheduling-queue.js';
import { pod, table } from '#scheduler/testing/plugin-table.js';

const turn = (priority: number | undefined, since: number) => ({
  info: podInfo(pod({ spec: priority === undefined ? {} : { priority } })),
  since,
});

type Turn = readonly [priority: number | undefined, since: number];

/** The name of the pod that comes first. */
function first(a: Turn, b: Turn): string {
  const [ab, ba] = [byPriority(turn(...a), turn(...b)), byPriority(turn(...b), turn(...a))];
  if (ab && ba) return 'both';
  return ab ? 'a' : ba ? 'b' : 'neither';
}

const [lowest, highest] = [-(2 ** 31), 2 ** 31 - 1];
const [system, node] = [2_000_000_000, 2_000_001_000];

table('order of two pods', first, [
  ['higher priority, queued later', [10, 2], [1, 1], 'a'],
  ['lower priority, queued earlier', [1, 1], [10, 2], 'b'],
  ['higher priority, queued earlier', [10, 1], [1, 2], 'a'],
  ['higher priority, queued at the same time', [2, 1], [1, 1], 'a'],
  ['same priority, queued earlier', [5, 1], [5, 2], 'a'],
  ['same priority, queued later', [5, 2], [5, 1], 'b'],
  ['same priority, queued at the same time', [5, 1], [5, 1], 'neither'],
  ['no priority means 0', [undefined, 1], [0, 1], 'neither'],
  ['no priority, queued earlier', [undefined, 1], [0, 2], 'a'],
  ['no priority, queued later', [undefined, 2], [0, 1], 'b'],
  ['no priority and a higher priority', [undefined, 1], [1, 2], 'b'],
  ['no priority and a lower priority', [undefined, 2], [-1, 1], 'a'],
  ['both without priority, queued earlier', [undefined, 1], [undefined, 2], 'a'],
  ['both without priority, queued at the same time', [undefined, 1], [undefined, 1], 'neither'],
  ['two negative priorities', [-1, 2], [-2, 1], 'a'],
  ['the same negative priority', [-7, 1], [-7, 2], 'a'],
  ['the highest and the lowest priority', [highest, 2], [lowest, 1], 'a'],
  ['the lowest priority and no priority', [lowest, 1], [undefined, 2], 'b'],
  ['the highest and the next lower priority', [highest, 2], [highest - 1, 1], 'a'],
  ['the lowest and the next higher priority', [lowest, 1], [lowest + 1, 2], 'b'],
  ['critical for the node and for the cluster', [node, 2], [system, 1], 'a'],
  ['critical for the cluster and the highest user priority', [system, 2], [1_000_000_000, 1], 'a'],
  ['times that differ by fractions of a millisecond', [0, 1.0001], [0, 1.0002], 'a'],
  ['a very long wait', [0, 0], [0, 1e12], 'a'],
  ['priority counts before a very long wait', [1, 1e12], [0, 0], 'a'],
]);
