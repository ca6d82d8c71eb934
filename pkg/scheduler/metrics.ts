import { Counter, Histogram, type Registry } from 'prom-client';

export type AttemptResult = 'scheduled' | 'unschedulable' | 'error';

/** The scheduler's metrics, named as in release 1.24. */
export interface SchedulerMetrics {
  /** Counts one try and its duration (ms). */
  attempt(result: AttemptResult, profile: string, durationMs: number): void;
  readonly algorithmSeconds: Histogram;
  readonly podSchedulingSeconds: Histogram;
}

const attemptBuckets = [0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128, 0.256, 0.512, 1.024, 4.096];

export function schedulerMetrics(registry: Registry): SchedulerMetrics {
  const registers = [registry];
  const attempts = new Counter({
    name: 'scheduler_schedule_attempts_total',
    help: 'Tries to schedule pods, by result and profile.',
    labelNames: ['result', 'profile'],
    registers,
  });
  const attemptSeconds = new Histogram({
    name: 'scheduler_scheduling_attempt_duration_seconds',
    help: 'Time of one try to schedule a pod, binding included.',
    labelNames: ['result', 'profile'],
    buckets: attemptBuckets,
    registers,
  });
  const endToEndSeconds = new Histogram({
    name: 'scheduler_e2e_scheduling_duration_seconds',
    help: 'The same as scheduler_scheduling_attempt_duration_seconds, under its name up to 1.23.',
    labelNames: ['result', 'profile'],
    buckets: attemptBuckets,
    registers,
  });
  return {
    attempt(result, profile, durationMs) {
      attempts.inc({ result, profile });
      attemptSeconds.observe({ result, profile }, durationMs / 1000);
      endToEndSeconds.observe({ result, profile }, durationMs / 1000);
    },
    algorithmSeconds: new Histogram({
      name: 'scheduler_scheduling_algorithm_duration_seconds',
      help: 'Time of one scheduling decision.',
      buckets: attemptBuckets,
      registers,
    }),
    podSchedulingSeconds: new Histogram({
      name: 'scheduler_pod_scheduling_duration_seconds',
      help: 'Time from the first sight of a pod to its binding.',
      buckets: [0.01, 0.04, 0.16, 0.64, 2.56, 10.24, 40.96, 163.84, 655.36],
      registers,
    }),
  };
}
