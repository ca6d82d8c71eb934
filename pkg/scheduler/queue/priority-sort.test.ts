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

table('who is tried first', first, [
  ['more important, came later', [10, 2], [1, 1], 'a'],
  ['less important, came earlier', [1, 1], [10, 2], 'b'],
  ['more important, came earlier', [10, 1], [1, 2], 'a'],
  ['more important, at the same time', [2, 1], [1, 1], 'a'],
  ['as important, came earlier', [5, 1], [5, 2], 'a'],
  ['as important, came later', [5, 2], [5, 1], 'b'],
  ['as important, at the same time', [5, 1], [5, 1], 'neither'],
  ['no priority is 0', [undefined, 1], [0, 1], 'neither'],
  ['no priority, came earlier', [undefined, 1], [0, 2], 'a'],
  ['no priority, came later', [undefined, 2], [0, 1], 'b'],
  ['no priority and one above', [undefined, 1], [1, 2], 'b'],
  ['no priority and one below', [undefined, 2], [-1, 1], 'a'],
  ['none has one, came earlier', [undefined, 1], [undefined, 2], 'a'],
  ['none has one, at the same time', [undefined, 1], [undefined, 1], 'neither'],
  ['below none: nearer to none', [-1, 2], [-2, 1], 'a'],
  ['below none, as important', [-7, 1], [-7, 2], 'a'],
  ['the highest and the lowest', [highest, 2], [lowest, 1], 'a'],
  ['the lowest and none', [lowest, 1], [undefined, 2], 'b'],
  ['the highest and the next', [highest, 2], [highest - 1, 1], 'a'],
  ['the lowest and the next', [lowest, 1], [lowest + 1, 2], 'b'],
  ['critical for a node and for the cluster', [node, 2], [system, 1], 'a'],
  ['critical for the cluster and a user', [system, 2], [1_000_000_000, 1], 'a'],
  ['times that differ by parts of a millisecond', [0, 1.0001], [0, 1.0002], 'a'],
  ['times of long ago', [0, 0], [0, 1e12], 'a'],
  ['importance before a long wait', [1, 1e12], [0, 0], 'a'],
]);
