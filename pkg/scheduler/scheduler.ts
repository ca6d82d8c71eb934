/** The scheduler as a daemon: one scheduling loop after another, each as long as this process leads. */
import { LeaderLoop, type Leadership } from '#control-loop/leader-loop.js';
import type { SchedulerView } from '#scheduler/explain/page.js';
import { SchedulingLoop, type SchedulingLoopOptions } from '#scheduler/scheduling-loop.js';

export interface SchedulerOptions extends SchedulingLoopOptions {
  /** Absent: leads always. */
  leadership?: Leadership;
}

export class Scheduler extends LeaderLoop {
  #current: SchedulingLoop | undefined;

  constructor(options: SchedulerOptions) {
    super({
      name: options.dialect.components.scheduler,
      leadership: options.leadership,
      run: (signal, synced) => this.#run(new SchedulingLoop(options), signal, synced),
    });
  }

  /** What the scheduler knows; undefined while it does not lead or is not synced. */
  get view(): SchedulerView | undefined {
    return this.#current;
  }

  async #run(loop: SchedulingLoop, signal: AbortSignal, synced: () => void): Promise<void> {
    const onSynced = () => {
      this.#current = loop;
      synced();
    };
    try {
      await loop.run(signal, onSynced);
    } finally {
      this.#current = undefined;
    }
  }
}
