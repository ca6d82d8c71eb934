/** The scheduler as a daemon: one scheduling loop after another, each as long as this process leads. */
import { LeaderLoop, type Leadership } from '#control-loop/leader-loop.js';
import { SchedulingLoop, type SchedulingLoopOptions } from '#scheduler/scheduling-loop.js';

export interface SchedulerOptions extends SchedulingLoopOptions {
  /** Absent: leads always. */
  leadership?: Leadership;
}

export class Scheduler extends LeaderLoop {
  constructor(options: SchedulerOptions) {
    super({
      name: options.dialect.components.scheduler,
      leadership: options.leadership,
      run: (signal, synced) => new SchedulingLoop(options).run(signal, synced),
    });
  }
}
