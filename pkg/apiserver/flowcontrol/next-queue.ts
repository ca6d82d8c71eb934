/** Which queue of a priority level is served next. */
import type { LevelSeries } from '#apiserver/flowcontrol/series.js';
import { type Queue, serviceMs } from '#apiserver/flowcontrol/ticket.js';
import { workOf } from '#apiserver/flowcontrol/work.js';

const unitsPerSecond = 1e8;

/**
 * The queue whose oldest request would end first in virtual time; of equal ones, the first after the last that was served.
 * `waiting`: the requests in all queues.
 */
export function nextQueue(
  queues: readonly Queue[],
  { last, waiting, series }: { readonly last: number; readonly waiting: number; readonly series: LevelSeries },
): Queue | undefined {
  let best: Queue | undefined;
  let least = 0;
  let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  let [lowLess, highLess] = [low, high];
  for (let i = 1, left = waiting; i <= queues.length && left > 0; i++) {
    const queue = queues[(last + i) % queues.length] as Queue;
    if (queue.waiting.size === 0) continue;
    left -= queue.waiting.size;
    const ends = queue.nextR + (queue.oldest?.totalWork ?? 0);
    // Without the work in progress.
    const less = queue.nextR - workOf(queue.seatsInUse, serviceMs);
    low = Math.min(low, queue.nextR);
    high = Math.max(high, queue.nextR);
    lowLess = Math.min(lowLess, less);
    highLess = Math.max(highLess, less);
    if (best === undefined || ends < least) {
      best = queue;
      least = ends;
    }
  }
  series.nextS(low / unitsPerSecond, high / unitsPerSecond, lowLess / unitsPerSecond, highLess / unitsPerSecond);
  return best;
}
