/** The scheduler daemon: runs a new scheduling loop for each term in which this process leads. */
import { LeaderLoop, type Leadership } from '#control-loop/leader-loop.js';
import type { SchedulerView } from '#scheduler/explain/page.js';
import type { Extender } from '#scheduler/framework/extender.js';
import { SchedulingLoop, type SchedulingLoopOptions } from '#scheduler/loop/scheduling-loop.js';

export interface SchedulerOptions extends SchedulingLoopOptions {
  /** Absent: this process always leads. */
  leadership?: Leadership;
}

export class Scheduler extends LeaderLoop {
  #current: SchedulingLoop | undefined;
  readonly #extenders: readonly Extender[];

  constructor(options: SchedulerOptions) {
    super({
      name: options.dialect.components.scheduler,
      leadership: options.leadership,
      run: (signal, synced) => this.#run(new SchedulingLoop(options), signal, synced),
    });
    this.#extenders = options.extenders ?? [];
  }

  /** The state of the current loop; undefined while this process does not lead or its caches are not synced. */
  get view(): SchedulerView | undefined {
    return this.#current;
  }

  /** Keys of the pods that are ready for an attempt, in one, or being bound. */
  unfinished(): readonly string[] {
    return this.#current?.unfinished() ?? [];
  }

  override async close(): Promise<void> {
    await super.close();
    await Promise.all(this.#extenders.map((extender) => extender.close()));
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
