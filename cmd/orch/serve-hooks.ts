/** What whoever runs a cluster, or a node of one, is told. */
import type { ProgressSink } from '#cmd/orch/terminal/progress.js';
import type { GuardedProcess } from '#daemon/process/guarded-process.js';

export interface ServeHooks {
  /** The process that runs the cluster. */
  readonly guarded: GuardedProcess;
  readonly progress: ProgressSink;
  onReady(): Promise<void>;
}
