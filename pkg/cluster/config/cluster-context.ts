/** The dependencies of the functions that start the parts of a cluster, and what a start returns. */
import type { Registry } from 'prom-client';
import type { Clock } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { Client } from '#client/client.js';
import type { Layout } from '#cluster/config/layout.js';
import type { ClusterSettings } from '#cluster/config/settings.js';
import type { StartOptions } from '#cluster/config/start-options.js';
import type { ProgressSink } from '#cluster/terminal/progress.js';
import type { Logger } from '#daemon/log/logger.js';
import type { Verbosity } from '#daemon/log/verbosity.js';
import type { ProcessFacts } from '#daemon/metrics/process-metrics.js';
import type { GuardedProcess } from '#daemon/process/guarded-process.js';

export interface ClusterContext {
  readonly start: StartOptions;
  readonly settings: ClusterSettings;
  readonly layout: Layout;
  readonly dialect: Dialect;
  readonly clock: Clock;
  readonly log: Logger;
  /** Level of `log`. */
  readonly verbosity: Verbosity;
  readonly progress: ProgressSink;
  /** Parts in the order of their start. */
  readonly running: Part[];
  /** The process that runs the cluster. */
  readonly process: ProcessFacts;
}

/** A part of a running cluster. Parts are closed in the reverse order of their start. */
export interface Part {
  /** Shown while the part is being stopped. */
  readonly name: string;
  close(): Promise<void>;
  /** Stops this process's work, but leaves what running pods need to programs of another release. Absent: `close`. */
  leave?(): Promise<void>;
}

/** Kernel state that pods use; it works without a process. */
export function keptForPods(name: string, close: () => Promise<void>): Part {
  return { name, close, leave: async () => undefined };
}

/** Work that runs from now until `close`, which aborts its signal and rejects with its failure. */
export function backgroundWork(name: string, start: (signal: AbortSignal) => Promise<unknown>): Part {
  const stop = new AbortController();
  const work = start(stop.signal);
  work.catch(() => undefined);
  return {
    name,
    close: async () => {
      stop.abort();
      await work;
    },
  };
}

export interface RunningCluster {
  /** A client with all rights. */
  readonly client: Client;
  /** Settles when a part ends unexpectedly. */
  readonly failed: Promise<void>;
  /** Metrics of this process, where it serves any. */
  readonly metrics?: Registry;
  /** Makes controllers and scheduler compete with those of other servers; resolves when they lead. Absent on mere nodes. */
  readonly elect?: (candidate: string) => Promise<void>;
}

/** Callbacks of the caller that runs a cluster, or a node of one. */
export interface ServeHooks {
  /** The process that runs the cluster. */
  readonly guarded: GuardedProcess;
  readonly progress: ProgressSink;
  onReady(): Promise<void>;
}
