/**
 * Metrics of the process and the runtime, computed at each scrape. Only the observer of event loop delays runs in
 * between; it starts at the first scrape, so an unwatched idle process is not woken.
 */
import { readdir, readFile } from 'node:fs/promises';
import { monitorEventLoopDelay, performance } from 'node:perf_hooks';
import type { Registry } from 'prom-client';
import { counter, gauge } from '#daemon/metrics/metric.js';

/** The part of the process that the metrics read. */
export interface ProcessFacts {
  readonly version: string;
  cpuUsage(): { readonly user: number; readonly system: number };
  memoryUsage(): {
    readonly rss: number;
    readonly heapTotal: number;
    readonly heapUsed: number;
    readonly external: number;
  };
  /** Seconds since the process started. */
  uptime(): number;
  /** Failures that a guarded process survived; absent for others. */
  survived?(): Survived;
}

export interface Survived {
  readonly droppedLogLines: number;
  /** Unhandled failures by kind. */
  readonly strayFailures: Readonly<Record<string, number>>;
}

export function registerProcessMetrics(registry: Registry, facts: ProcessFacts): void {
  registerCpu(registry, facts);
  const single = (name: string, help: string, value: () => number) => {
    gauge(registry, {
      name,
      help,
      collect() {
        this.set(value());
      },
    });
  };
  single('process_resident_memory_bytes', 'Resident memory in bytes', () => facts.memoryUsage().rss);
  single('nodejs_heap_size_total_bytes', 'Size of the heap in bytes', () => facts.memoryUsage().heapTotal);
  single('nodejs_heap_size_used_bytes', 'Used part of the heap in bytes', () => facts.memoryUsage().heapUsed);
  single('nodejs_external_memory_bytes', 'Memory outside of the heap in bytes', () => facts.memoryUsage().external);
  const startSeconds = Math.floor(performance.timeOrigin / 1000);
  single('process_start_time_seconds', 'Start of the process, in seconds since the epoch', () => startSeconds);
  single('process_uptime_seconds', 'Seconds since the process began', () => facts.uptime());
  registerFiles(registry);
  registerSurvived(registry, facts);
  registerLoop(registry);
  registerDelay(registry);
  gauge(registry, {
    name: 'nodejs_version_info',
    help: 'Always 1; the label tells the version of the runtime',
    labelNames: ['version'],
  }).set({ version: facts.version }, 1);
}

function registerCpu(registry: Registry, facts: ProcessFacts): void {
  let counted = 0;
  counter(registry, {
    name: 'process_cpu_seconds_total',
    help: 'User and system CPU time in seconds',
    collect() {
      const { user, system } = facts.cpuUsage();
      const seconds = (user + system) / 1e6;
      this.inc(Math.max(0, seconds - counted));
      counted = seconds;
    },
  });
}

function registerSurvived(registry: Registry, { survived }: ProcessFacts): void {
  if (survived === undefined) return;
  counter(registry, {
    name: 'process_log_lines_dropped_total',
    help: 'Lines of the log that could not be written',
    collect() {
      this.reset();
      this.inc(survived().droppedLogLines);
    },
  });
  counter(registry, {
    name: 'process_stray_failures_total',
    help: 'Failures that nothing had handled and that the process survived, by kind: rejection, stream',
    labelNames: ['kind'],
    collect() {
      this.reset();
      for (const [kind, count] of Object.entries(survived().strayFailures)) this.inc({ kind }, count);
    },
  });
}

/** Go's 64-bit runtime reports this for no limit. */
const unlimitedBytes = 2 ** 64;

/** Read from /proc; without it the series are absent. */
function registerFiles(registry: Registry): void {
  gauge(registry, {
    name: 'process_virtual_memory_bytes',
    help: 'Virtual memory in bytes',
    async collect() {
      const match = /^VmSize:\s+(\d+) kB/m.exec((await orMissing(readFile('/proc/self/status', 'utf8'))) ?? '');
      if (match !== null) this.set(Number(match[1]) * 1024);
    },
  });
  gauge(registry, {
    name: 'process_virtual_memory_max_bytes',
    help: 'Largest amount of virtual memory in bytes',
    async collect() {
      const limits = await orMissing(readFile('/proc/self/limits', 'utf8'));
      const match = /^Max address space\s+(\S+)/m.exec(limits ?? '');
      if (match !== null) this.set(match[1] === 'unlimited' ? unlimitedBytes : Number(match[1]));
    },
  });
  gauge(registry, {
    name: 'process_open_fds',
    help: 'Open file descriptors',
    async collect() {
      const names = await orMissing(readdir('/proc/self/fd'));
      if (names !== undefined) this.set(names.length);
    },
  });
  gauge(registry, {
    name: 'process_max_fds',
    help: 'Largest number of open file descriptors',
    async collect() {
      const limits = await orMissing(readFile('/proc/self/limits', 'utf8'));
      const match = /^Max open files\s+(\d+)/m.exec(limits ?? '');
      if (match !== null) this.set(Number(match[1]));
    },
  });
}

function registerLoop(registry: Registry): void {
  let last = performance.eventLoopUtilization();
  gauge(registry, {
    name: 'nodejs_eventloop_utilization',
    help: 'Part of the time since the last reading in which the event loop was busy',
    collect() {
      const now = performance.eventLoopUtilization();
      const { utilization } = performance.eventLoopUtilization(now, last);
      last = now;
      this.set(Number.isFinite(utilization) ? utilization : 0);
    },
  });
}

/** Sampling interval of the observer; delays include it. */
const delayResolutionMs = 10;

/** Delays of the event loop since the last scrape; zero at the first, which starts the observer. */
function registerDelay(registry: Registry): void {
  const delays = monitorEventLoopDelay({ resolution: delayResolutionMs });
  const series = (name: string, help: string, nanoseconds: () => number) =>
    gauge(registry, {
      name,
      help,
      collect() {
        this.set(delays.enable() || delays.count === 0 ? 0 : nanoseconds() / 1e9);
      },
    });
  series('nodejs_eventloop_lag_p50_seconds', 'Median delay of the event loop', () => delays.percentile(50));
  series('nodejs_eventloop_lag_p99_seconds', '99th percentile of the delays of the event loop', () =>
    delays.percentile(99),
  );
  series('nodejs_eventloop_lag_max_seconds', 'Longest delay of the event loop', () => {
    const { max } = delays;
    // The last of the three series: start a new observation.
    delays.reset();
    return max;
  });
}

async function orMissing<T>(promise: Promise<T>): Promise<T | undefined> {
  try {
    return await promise;
  } catch {
    // Without /proc the series is absent instead of wrong.
    return undefined;
  }
}
