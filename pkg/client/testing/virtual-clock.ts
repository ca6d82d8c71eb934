/** A clock that moves only when the test advances it. */
import { FileWork } from '#apimachinery/time/file-work.js';
import { ManualClock } from '#apimachinery/time/manual-clock.js';

/** Runs everything that is ready: promise jobs, and callbacks of this process's sockets and streams. */
export function eventLoopTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

const fileWork = new FileWork().start();

/** Waits for real file operations, so that they take no virtual time however slow the machine is. */
async function finishFileWork(): Promise<void> {
  do await eventLoopTurn();
  while (fileWork.count > 0);
}

export class VirtualClock extends ManualClock {
  /** `startMs`: the start time; default: 2022-05-03T00:00:00Z. */
  constructor(startMs = 1_651_536_000_000) {
    super({ startMs });
  }

  /** Advances time, firing each timer at its time; work that it starts runs before the next timer. */
  override advance(ms: number): Promise<number> {
    return super.advance(ms, finishFileWork);
  }

  /** Advances from timer to timer until `condition` holds; throws after `maxMs` of virtual time. */
  async advanceUntil(condition: () => boolean, maxMs = 3_600_000): Promise<void> {
    const endMs = this.monotonic() + maxMs;
    await finishFileWork();
    while (!condition()) {
      const nextMs = this.nextStopMs;
      if (nextMs === undefined || this.monotonic() + nextMs > endMs)
        throw new Error(`condition still false after ${maxMs} ms of virtual time`);
      await this.advance(nextMs);
    }
  }
}
