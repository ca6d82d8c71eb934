/** Probes of running containers: when they run, how often they must fail or succeed, and what they say by then. */
import type { Container, ContainerStatus, Pod, Probe } from '#api/core/v1/types.gen.js';
import type { Clock, Timer } from '#apimachinery/clock.js';
import type { PodEvents } from '#nodeagent/events/pod-events.js';
import type { Checker } from '#nodeagent/probes/checker.js';
import { isRunning, newestContainer, type PodRuntime, podIPs } from '#nodeagent/runtime/pod-runtime.js';

type ProbeType = 'startup' | 'liveness' | 'readiness';

/** Why a running container is to be killed. */
export interface Verdict {
  readonly reason: 'livenessProbe' | 'startupProbe';
  /** The probe's own grace period, where it has one. */
  readonly graceSeconds?: number;
}

export interface ProberOptions {
  readonly clock: Clock;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  readonly events: PodEvents;
  readonly checker: Checker;
  /** A result changed what the pod's status or plan depends on. */
  readonly onChange: (podUID: string) => void;
}

interface Series {
  readonly type: ProbeType;
  readonly probe: Probe;
  /** Undefined before the first answer that counts. */
  result: boolean | undefined;
  /** Equal answers in a row. */
  run: number;
  last: boolean | undefined;
  timer: Timer | undefined;
}

interface Probed {
  readonly id: string;
  readonly container: Container;
  /** Of the clock that is never set. */
  readonly startedAt: number;
  pod: Pod;
  podIP: string;
  readonly series: Map<ProbeType, Series>;
  stopped: boolean;
}

/** How often a probe of a container of a pod said so, over all its runs. */
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
  /** Pod UID → container id → its probes. */
  readonly #pods = new Map<string, Map<string, Probed>>();

  /** Pod UID → type, container and result → count. */
  readonly #counts = new Map<string, Map<string, ProbeCount>>();

  readonly #beganAt: number;

  constructor(options: ProberOptions) {
    this.#options = options;
    this.#beganAt = options.clock.monotonic();
  }

  /** Starts the probes of containers that run, ends those of containers that do not. */
  sync(pod: Pod, runtime: PodRuntime): void {
    const uid = pod.metadata.uid ?? '';
    const known = this.#pods.get(uid) ?? new Map<string, Probed>();
    const running = new Set<string>();
    const podIP = podIPs(runtime)[0] ?? pod.status?.podIP ?? '';
    for (const container of pod.spec.containers) {
      const status = newestContainer(runtime, container.name);
      if (status === undefined || !isRunning(status) || !hasProbes(container)) continue;
      running.add(status.id);
      const probed = known.get(status.id);
      if (probed !== undefined) {
        probed.pod = pod;
        probed.podIP = podIP;
        continue;
      }
      const { id } = status;
      const { clock } = this.#options;
      const startedAt = clock.monotonic() - Math.max(0, clock.now() - status.startedAt);
      const fresh: Probed = { id, container, startedAt, pod, podIP, series: new Map(), stopped: false };
      known.set(id, fresh);
      this.#begin(fresh);
    }
    for (const [id, probed] of known) {
      if (running.has(id)) continue;
      stop(probed);
      known.delete(id);
    }
    if (known.size === 0) this.#pods.delete(uid);
    else this.#pods.set(uid, known);
  }

  *counts(): Generator<ProbeCount> {
    for (const ofPod of this.#counts.values()) yield* ofPod.values();
  }

  remove(podUID: string): void {
    this.#counts.delete(podUID);
    for (const probed of this.#pods.get(podUID)?.values() ?? []) stop(probed);
    this.#pods.delete(podUID);
  }

  /** Probes no longer decide whether containers live: the pod is being ended. */
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

  /** The container has passed its startup probe, or has none. */
  isStarted(podUID: string, container: Container, containerId: string): boolean {
    if (container.startupProbe === undefined) return true;
    return this.#pods.get(podUID)?.get(containerId)?.series.get('startup')?.result === true;
  }

  isReady(podUID: string, container: Container, containerId: string): boolean {
    if (!this.isStarted(podUID, container, containerId)) return false;
    if (container.readinessProbe === undefined) return true;
    return this.#pods.get(podUID)?.get(containerId)?.series.get('readiness')?.result === true;
  }

  /** Containers of the pod that its probes condemn. */
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

  #begin(probed: Probed): void {
    const { startupProbe } = probed.container;
    if (startupProbe === undefined) {
      this.#afterStart(probed);
      return;
    }
    if (!reported(probed)?.started) {
      this.#add(probed, 'startup', startupProbe);
      return;
    }
    const passed: Series = { type: 'startup', probe: startupProbe, result: true, run: 0, last: true, timer: undefined };
    probed.series.set('startup', passed);
    this.#afterStart(probed);
  }

  #afterStart(probed: Probed): void {
    const { livenessProbe, readinessProbe } = probed.container;
    if (livenessProbe !== undefined) this.#add(probed, 'liveness', livenessProbe);
    if (readinessProbe !== undefined) this.#add(probed, 'readiness', readinessProbe);
  }

  #add(probed: Probed, type: ProbeType, probe: Probe): void {
    // A restart of the agent is no reason to take a container out of service.
    const result = type === 'readiness' && reported(probed)?.ready === true ? true : undefined;
    const series: Series = { type, probe, result, run: 0, last: undefined, timer: undefined };
    probed.series.set(type, series);
    const { clock, random } = this.#options;
    const due = probed.startedAt + (probe.initialDelaySeconds ?? 0) * 1000 - clock.monotonic();
    // What ran before the agent began is all found at once, and is not to be asked all at once.
    const spreadMs = probed.startedAt < this.#beganAt ? random() * periodMs(probe) : 0;
    this.#schedule(probed, series, Math.max(due, spreadMs));
  }

  #schedule(probed: Probed, series: Series, delayMs: number): void {
    series.timer = this.#options.clock.setTimer(() => void this.#run(probed, series), delayMs);
  }

  async #run(probed: Probed, series: Series): Promise<void> {
    const { probe } = series;
    const { pod, container, id: containerId, podIP } = probed;
    const target = { pod, container, containerId, podIP };
    const timeoutMs = (probe.timeoutSeconds ?? 1) * 1000;
    const result = await this.#options.checker.check(probe, target, timeoutMs);
    const { success, isUnknown = false, isWarning = false, output } = result;
    if (probed.stopped || probed.series.get(series.type) !== series) return;
    const again = () => this.#schedule(probed, series, periodMs(probe));
    if (isUnknown) {
      // It counts for nothing.
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
    // A condemned container is not asked again: it is about to go.
    if (series.result === false && series.type !== 'readiness') return;
    if (probed.series.get(series.type) === series) again();
  }

  #count({ pod, container }: Probed, probe: ProbeType, success: boolean): void {
    const { name = '', namespace = '', uid = '' } = pod.metadata;
    const counts = this.#counts.get(uid) ?? new Map<string, ProbeCount>();
    this.#counts.set(uid, counts);
    const result = success ? 'successful' : 'failed';
    const key = `${probe} ${result} ${container.name}`;
    const count = (counts.get(key)?.count ?? 0) + 1;
    const type = titles[probe];
    counts.set(key, { type, result, container: container.name, pod: name, namespace, podUID: uid, count });
  }

  #decide(probed: Probed, series: Series, success: boolean): void {
    series.result = success;
    if (series.type === 'startup' && success) {
      this.#afterStart(probed);
      // Once started it stays started: the probe has done its work.
      series.timer?.cancel();
      probed.series.set('startup', { ...series, timer: undefined });
    }
    this.#options.onChange(probed.pod.metadata.uid ?? '');
  }
}

/** What the API says of this very run of the container. */
function reported({ pod, id }: Probed): ContainerStatus | undefined {
  return pod.status?.containerStatuses?.find((status) => status.containerID?.endsWith(`//${id}`));
}

function periodMs({ periodSeconds = 10 }: Probe): number {
  return periodSeconds * 1000;
}

function hasProbes(container: Container): boolean {
  return [container.startupProbe, container.livenessProbe, container.readinessProbe].some((p) => p !== undefined);
}

function stop(probed: Probed): void {
  probed.stopped = true;
  for (const series of probed.series.values()) series.timer?.cancel();
}
