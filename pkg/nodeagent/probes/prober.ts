/** Probes of running containers: their schedule, thresholds and current results. */
import type { Container, ContainerStatus, Pod, Probe } from '#api/core/v1/types.gen.js';
import { type Clock, type Timer, upkeepClock } from '#apimachinery/clock.js';
import type { PodEvents } from '#nodeagent/events/pod-events.js';
import type { Checker } from '#nodeagent/probes/checker.js';
import { isRunning, newestContainer, type PodRuntime, podIPs } from '#nodeagent/runtime/pod-runtime.js';

type ProbeType = 'startup' | 'liveness' | 'readiness';

/** Why a running container must be killed. */
export interface Verdict {
  readonly reason: 'livenessProbe' | 'startupProbe';
  /** The probe's own grace period, if set. */
  readonly graceSeconds?: number;
}

export interface ProberOptions {
  readonly clock: Clock;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  readonly events: PodEvents;
  readonly checker: Checker;
  /** A result changed an input of the pod's status or plan. */
  readonly onChange: (podUID: string) => void;
}

interface Series {
  readonly type: ProbeType;
  readonly probe: Probe;
  /** Undefined before the first decisive result. */
  result: boolean | undefined;
  /** Number of equal results in a row. */
  run: number;
  last: boolean | undefined;
  timer: Timer | undefined;
}

interface ProbedContainer {
  readonly id: string;
  readonly container: Container;
  /** Monotonic ms. */
  readonly startedAt: number;
  pod: Pod;
  podIP: string;
  readonly series: Map<ProbeType, Series>;
  stopped: boolean;
}

/** Number of results of a container's probe, over all its runs. */
export interface ProbeCount {
  readonly type: 'Startup' | 'Liveness' | 'Readiness';
  readonly result: 'successful' | 'failed';
  readonly container: string;
  readonly pod: string;
  readonly namespace: string;
  readonly podUID: string;
  readonly count: number;
}

const titles: Record<ProbeType, ProbeCount['type']> = {
  startup: 'Startup',
  liveness: 'Liveness',
  readiness: 'Readiness',
};

export class Prober {
  readonly #options: ProberOptions;
  /** Pod UID → container ID → its probes. */
  readonly #pods = new Map<string, Map<string, ProbedContainer>>();

  /** Pod UID → type, container and result → count. */
  readonly #counts = new Map<string, Map<string, ProbeCount>>();

  readonly #beganAt: number;

  constructor(options: ProberOptions) {
    this.#options = options;
    this.#beganAt = options.clock.monotonic();
  }

  /** Starts probes of running containers, and stops those of others. */
  sync(pod: Pod, runtime: PodRuntime): void {
    const uid = pod.metadata.uid ?? '';
    const podContainers = this.#pods.get(uid) ?? new Map<string, ProbedContainer>();
    const running = new Set<string>();
    const podIP = podIPs(runtime)[0] ?? pod.status?.podIP ?? '';
    for (const container of pod.spec.containers) {
      const status = newestContainer(runtime, container.name);
      if (status === undefined || !isRunning(status) || !hasProbes(container)) continue;
      running.add(status.id);
      const probed = podContainers.get(status.id);
      if (probed !== undefined) {
        probed.pod = pod;
        probed.podIP = podIP;
        continue;
      }
      const { id } = status;
      const { clock } = this.#options;
      const startedAt = clock.monotonic() - Math.max(0, clock.now() - status.startedAt);
      const fresh: ProbedContainer = { id, container, startedAt, pod, podIP, series: new Map(), stopped: false };
      podContainers.set(id, fresh);
      this.#begin(fresh);
    }
    for (const [id, probed] of podContainers) {
      if (running.has(id)) continue;
      stop(probed);
      podContainers.delete(id);
    }
    if (podContainers.size === 0) this.#pods.delete(uid);
    else this.#pods.set(uid, podContainers);
  }

  *counts(): Generator<ProbeCount> {
    for (const podCounts of this.#counts.values()) yield* podCounts.values();
  }

  remove(podUID: string): void {
    this.#counts.delete(podUID);
    for (const probed of this.#pods.get(podUID)?.values() ?? []) stop(probed);
    this.#pods.delete(podUID);
  }

  /** Stops probes that could kill containers: the pod is ending. */
  stopLiveness(podUID: string): void {
    for (const probed of this.#pods.get(podUID)?.values() ?? []) {
      for (const type of ['startup', 'liveness'] as const) {
        probed.series.get(type)?.timer?.cancel();
        probed.series.delete(type);
      }
    }
  }

  close(): void {
    for (const uid of [...this.#pods.keys()]) this.remove(uid);
  }

  /** True if the startup probe has succeeded, or there is none. */
  isStarted(podUID: string, container: Container, containerId: string): boolean {
    if (container.startupProbe === undefined) return true;
    return this.#pods.get(podUID)?.get(containerId)?.series.get('startup')?.result === true;
  }

  isReady(podUID: string, container: Container, containerId: string): boolean {
    if (!this.isStarted(podUID, container, containerId)) return false;
    if (container.readinessProbe === undefined) return true;
    return this.#pods.get(podUID)?.get(containerId)?.series.get('readiness')?.result === true;
  }

  /** The pod's containers that failing probes kill. */
  verdicts(podUID: string): Map<string, Verdict> {
    const verdicts = new Map<string, Verdict>();
    for (const probed of this.#pods.get(podUID)?.values() ?? []) {
      for (const type of ['startup', 'liveness'] as const) {
        const series = probed.series.get(type);
        if (series?.result !== false) continue;
        const graceSeconds = series.probe.terminationGracePeriodSeconds;
        const reason = type === 'startup' ? 'startupProbe' : 'livenessProbe';
        verdicts.set(
          probed.id,
          graceSeconds === undefined ? { reason } : { reason, graceSeconds: Number(graceSeconds) },
        );
      }
    }
    return verdicts;
  }

  #begin(probed: ProbedContainer): void {
    const { startupProbe } = probed.container;
    if (startupProbe === undefined) {
      this.#afterStart(probed);
      return;
    }
    if (!reportedStatus(probed)?.started) {
      this.#add(probed, 'startup', startupProbe);
      return;
    }
    const passed: Series = { type: 'startup', probe: startupProbe, result: true, run: 0, last: true, timer: undefined };
    probed.series.set('startup', passed);
    this.#afterStart(probed);
  }

  #afterStart(probed: ProbedContainer): void {
    const { livenessProbe, readinessProbe } = probed.container;
    if (livenessProbe !== undefined) this.#add(probed, 'liveness', livenessProbe);
    if (readinessProbe !== undefined) this.#add(probed, 'readiness', readinessProbe);
  }

  #add(probed: ProbedContainer, type: ProbeType, probe: Probe): void {
    // A restart of the agent must not make a ready container unready.
    const result = type === 'readiness' && reportedStatus(probed)?.ready === true ? true : undefined;
    const series: Series = { type, probe, result, run: 0, last: undefined, timer: undefined };
    probed.series.set(type, series);
    const { clock, random } = this.#options;
    const due = probed.startedAt + (probe.initialDelaySeconds ?? 0) * 1000 - clock.monotonic();
    // Spread probes of containers that ran before the agent, since all are discovered at once.
    const spreadMs = probed.startedAt < this.#beganAt ? random() * periodMs(probe) : 0;
    this.#schedule(probed, series, Math.max(due, spreadMs));
  }

  #schedule(probed: ProbedContainer, series: Series, delayMs: number): void {
    const { clock } = this.#options;
    // A probe that goes on succeeding is repeated without a consequence.
    const isSteady = series.result === true && series.last === true;
    series.timer = (isSteady ? upkeepClock(clock) : clock).setTimer(() => void this.#run(probed, series), delayMs);
  }

  async #run(probed: ProbedContainer, series: Series): Promise<void> {
    const { probe } = series;
    const { pod, container, id: containerId, podIP } = probed;
    const target = { pod, container, containerId, podIP };
    const timeoutMs = (probe.timeoutSeconds ?? 1) * 1000;
    const result = await this.#options.checker.check(probe, target, timeoutMs);
    const { success, isUnknown = false, isWarning = false, output } = result;
    if (probed.stopped || probed.series.get(series.type) !== series) return;
    const again = () => this.#schedule(probed, series, periodMs(probe));
    if (isUnknown) {
      // A check that could not be made changes no result.
      const message = `${titles[series.type]} probe errored: ${output}`;
      this.#options.events.container(pod, container, 'Warning', 'Unhealthy', message);
      again();
      return;
    }
    this.#count(probed, series.type, success);
    if (!success) {
      const message = `${titles[series.type]} probe failed: ${output}`;
      this.#options.events.container(pod, container, 'Warning', 'Unhealthy', message);
    } else if (isWarning) {
      const message = `${titles[series.type]} probe warning: ${output}`;
      this.#options.events.container(pod, container, 'Warning', 'ProbeWarning', message);
    }
    series.run = series.last === success ? series.run + 1 : 1;
    series.last = success;
    const threshold = success ? (probe.successThreshold ?? 1) : (probe.failureThreshold ?? 3);
    if (series.run >= threshold && series.result !== success) this.#decide(probed, series, success);
    // The container is about to be killed, so stop probing.
    if (series.result === false && series.type !== 'readiness') return;
    if (probed.series.get(series.type) === series) again();
  }

  #count({ pod, container }: ProbedContainer, probe: ProbeType, success: boolean): void {
    const { name = '', namespace = '', uid = '' } = pod.metadata;
    const counts = this.#counts.get(uid) ?? new Map<string, ProbeCount>();
    this.#counts.set(uid, counts);
    const result = success ? 'successful' : 'failed';
    const key = `${probe} ${result} ${container.name}`;
    const count = (counts.get(key)?.count ?? 0) + 1;
    const type = titles[probe];
    counts.set(key, { type, result, container: container.name, pod: name, namespace, podUID: uid, count });
  }

  #decide(probed: ProbedContainer, series: Series, success: boolean): void {
    series.result = success;
    if (series.type === 'startup' && success) {
      this.#afterStart(probed);
      // A passed startup probe never runs again.
      series.timer?.cancel();
      probed.series.set('startup', { ...series, timer: undefined });
    }
    this.#options.onChange(probed.pod.metadata.uid ?? '');
  }
}

/** The API's status of this run of the container. */
function reportedStatus({ pod, id }: ProbedContainer): ContainerStatus | undefined {
  return pod.status?.containerStatuses?.find((status) => status.containerID?.endsWith(`//${id}`));
}

function periodMs({ periodSeconds = 10 }: Probe): number {
  return periodSeconds * 1000;
}

function hasProbes(container: Container): boolean {
  return [container.startupProbe, container.livenessProbe, container.readinessProbe].some((p) => p !== undefined);
}

function stop(probed: ProbedContainer): void {
  probed.stopped = true;
  for (const series of probed.series.values()) series.timer?.cancel();
}
