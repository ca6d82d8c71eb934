/** What the parts of a cluster are started with. */
import type { Clock } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { Closable } from '#cmd/orch/context/closable.js';
import type { Layout } from '#cmd/orch/context/layout.js';
import type { ClusterSettings } from '#cmd/orch/context/settings.js';
import type { StartOptions } from '#cmd/orch/context/start-options.js';
import type { ProgressSink } from '#cmd/orch/terminal/progress.js';
import type { Logger } from '#daemon/log/logger.js';
import type { Verbosity } from '#daemon/log/verbosity.js';
import type { ProcessFacts } from '#daemon/metrics/process-metrics.js';

export interface ClusterContext {
  readonly start: StartOptions;
  readonly settings: ClusterSettings;
  readonly layout: Layout;
  readonly dialect: Dialect;
  readonly clock: Clock;
  readonly log: Logger;
  /** Of that log. */
  readonly verbosity: Verbosity;
  readonly progress: ProgressSink;
  /** What was started, in order. */
  readonly running: Closable[];
  /** The process that runs the cluster. */
  readonly process: ProcessFacts;
}
