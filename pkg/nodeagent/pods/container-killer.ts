/** Ends containers: preStop hook first, then SIGTERM, then SIGKILL after the grace period. */
import type { Container, Pod } from '#api/core/v1/types.gen.js';
import type { Clock } from '#apimachinery/clock.js';
import type { RuntimeService } from '#nodeagent/cri/cri.js';
import type { PodEvents } from '#nodeagent/events/pod-events.js';
import { runHook } from '#nodeagent/pods/hooks.js';
import { killingMessage } from '#nodeagent/pods/plan.js';
import type { Checker } from '#nodeagent/probes/checker.js';
import { isRunning, type PodRuntime, podIPs, type RuntimeContainer } from '#nodeagent/runtime/pod-runtime.js';

/** Minimum time between SIGTERM and SIGKILL after a hook. */
const minimumGraceSeconds = 2;
export const defaultGraceSeconds = 30;

/** Grace period of the pod's containers when the pod ends: from its deletion, else from its spec. */
export function podGraceSeconds({ metadata, spec }: Pod): number {
  return Number(metadata.deletionGracePeriodSeconds ?? spec.terminationGracePeriodSeconds ?? defaultGraceSeconds);
}

export interface ContainerKillerOptions {
  readonly clock: Clock;
  readonly cri: Pick<RuntimeService, 'stopContainer' | 'stopPodSandbox'>;
  readonly events: PodEvents;
  readonly checker: Checker;
}

export interface KillOptions {
  readonly pod: Pod;
  readonly runtime: PodRuntime;
  readonly container: Pick<RuntimeContainer, 'id' | 'metadata' | 'state'>;
  readonly graceSeconds: number;
  /** Message of the Killing event; default `Stopping container …`. */
  readonly message?: string;
}

function specOf(pod: Pod, name: string): Container | undefined {
  return [...pod.spec.containers, ...(pod.spec.initContainers ?? [])].find((container) => container.name === name);
}

export class ContainerKiller {
  readonly #options: ContainerKillerOptions;

  constructor(options: ContainerKillerOptions) {
    this.#options = options;
  }

  /** Resolves when the container has exited. Throws CRIError. */
  async kill(options: KillOptions): Promise<void> {
    const { clock, events, cri, checker } = this.#options;
    const { pod, container, runtime } = options;
    const name = container.metadata.name;
    events.container(pod, { name }, 'Normal', 'Killing', options.message ?? killingMessage(name));
    let graceSeconds = options.graceSeconds;
    const spec = specOf(pod, name);
    const hook = spec?.lifecycle?.preStop;
    if (spec !== undefined && hook !== undefined && graceSeconds > 0 && isRunning(container)) {
      const started = clock.monotonic();
      const target = { pod, container: spec, containerId: container.id, podIP: podIPs(runtime)[0] ?? '' };
      const over = new AbortController();
      const result = await Promise.race([
        runHook(checker, hook, { target, limitMs: graceSeconds * 1000 }),
        clock.sleep(graceSeconds * 1000, over.signal).then(() => undefined),
      ]);
      over.abort();
      if (result !== undefined) events.container(pod, { name }, 'Warning', 'FailedPreStopHook', result);
      graceSeconds -= Math.floor((clock.monotonic() - started) / 1000);
    }
    const seconds = options.graceSeconds > 0 ? Math.max(minimumGraceSeconds, graceSeconds) : 0;
    await cri.stopContainer(container.id, seconds);
  }

  /** Ends all containers of a pod concurrently, then its sandboxes. Throws the first failure after all were tried. */
  async killAll(options: { pod: Pod; runtime: PodRuntime; graceSeconds: number }): Promise<void> {
    const { runtime } = options;
    const running = runtime.containers.filter((container) => isRunning(container));
    const results = await Promise.allSettled(running.map((container) => this.kill({ ...options, container })));
    for (const sandbox of runtime.sandboxes) await this.#options.cri.stopPodSandbox(sandbox.id);
    const failed = results.find((result) => result.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
  }
}
