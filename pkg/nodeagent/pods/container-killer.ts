/** Ends containers: the hook first, then SIGTERM, then SIGKILL when the grace period is over. */
import type { Container, Pod } from '#api/core/v1/types.gen.js';
import type { PodContext } from '#nodeagent/pods/context.js';
import { killingMessage } from '#nodeagent/pods/plan.js';
import { isRunning, type PodRuntime, podIPs, type RuntimeContainer } from '#nodeagent/runtime/pod-runtime.js';

/** What a container has left after its hook, at least. */
const minimumGraceSeconds = 2;
export const defaultGraceSeconds = 30;

export interface KillOptions {
  readonly pod: Pod;
  readonly runtime: PodRuntime;
  readonly container: RuntimeContainer;
  readonly graceSeconds: number;
  /** Of the Killing event; `Stopping container …` when absent. */
  readonly message?: string;
}

function specOf(pod: Pod, name: string): Container | undefined {
  return [...pod.spec.containers, ...(pod.spec.initContainers ?? [])].find((container) => container.name === name);
}

/** Resolves when the container has exited. Throws CRIError. */
export async function killContainer(context: PodContext, options: KillOptions): Promise<void> {
  const { clock, events, cri } = context;
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
      context.checker.check(hook, target, graceSeconds * 1000),
      clock.sleep(graceSeconds * 1000, over.signal).then(() => undefined),
    ]);
    over.abort();
    if (result !== undefined && !result.success) {
      events.container(pod, { name }, 'Warning', 'FailedPreStopHook', `PreStopHook failed: ${result.output}`);
    }
    graceSeconds -= Math.floor((clock.monotonic() - started) / 1000);
  }
  const seconds = options.graceSeconds > 0 ? Math.max(minimumGraceSeconds, graceSeconds) : 0;
  await cri.stopContainer(container.id, seconds);
}

/** Ends all that runs in a pod, at the same time, and then its sandboxes. Throws the first failure, after all were tried. */
export async function killPod(
  context: PodContext,
  options: { pod: Pod; runtime: PodRuntime; graceSeconds: number },
): Promise<void> {
  const { runtime } = options;
  const running = runtime.containers.filter((container) => isRunning(container));
  const results = await Promise.allSettled(
    running.map((container) => killContainer(context, { ...options, container })),
  );
  for (const sandbox of runtime.sandboxes) await context.cri.stopPodSandbox(sandbox.id);
  const failed = results.find((result) => result.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
}

/** Removes every trace of a stopped pod from the runtime, and its logs. */
export async function removeFromRuntime(context: PodContext, runtime: PodRuntime): Promise<void> {
  for (const container of runtime.containers) await context.cri.removeContainer(container.id);
  for (const sandbox of runtime.sandboxes) {
    await context.cri.stopPodSandbox(sandbox.id);
    await context.cri.removePodSandbox(sandbox.id);
  }
}
