/** Starts sandboxes and containers: image, configuration, create, start, hook; each failure with its own reason. */
import { join } from 'node:path';
import { configmaps, secrets } from '#api/core/v1/resources.gen.js';
import type { ConfigMap, Pod, Secret } from '#api/core/v1/types.gen.js';
import type { Image, Mount, PodSandboxConfig } from '#nodeagent/cri/cri.js';
import { podDNS } from '#nodeagent/environment/dns.js';
import { ContainerConfigError, containerEnvironment } from '#nodeagent/environment/environment.js';
import type { PodFacts } from '#nodeagent/environment/field-ref.js';
import { podHostname } from '#nodeagent/environment/hosts-file.js';
import { serviceVariables } from '#nodeagent/environment/service-variables.js';
import { ImageError } from '#nodeagent/images/puller.js';
import { containerMounts } from '#nodeagent/pods/container-files.js';
import type { PodContext } from '#nodeagent/pods/context.js';
import type { ContainerStart } from '#nodeagent/pods/plan.js';
import { containerConfig, logDirectoryName, sandboxConfig } from '#nodeagent/pods/runtime-config.js';
import { verifyNonRoot } from '#nodeagent/pods/security.js';
import { containerResources } from '#nodeagent/resources/container-resources.js';
import { newestContainer, type PodRuntime, podIPs } from '#nodeagent/runtime/pod-runtime.js';

/** Why a container does not start; `reason` becomes its waiting reason. */
export class StartError extends Error {
  override readonly name = 'StartError';
  readonly reason: string;
  /** Instant (ms) before which it is not tried again. */
  readonly retryAt: number;

  constructor(reason: string, message: string, retryAt: number, options?: { cause?: unknown }) {
    super(message, options);
    this.reason = reason;
    this.retryAt = retryAt;
  }
}

/** Release 1.24 looks at a pod that failed to start again after this. */
const retryMs = 10_000;

export function podLogDirectory(context: PodContext, pod: Pod): string {
  const { name = '', namespace = '', uid = '' } = pod.metadata;
  return join(context.podLogsDir, logDirectoryName({ name, namespace, uid }));
}

export function podFacts(context: PodContext, pod: Pod, runtime: PodRuntime): PodFacts {
  const { nodeName, hostIPs, allocatable } = context.node();
  const ips = pod.spec.hostNetwork === true ? hostIPs : podIPs(runtime);
  return { nodeName, hostIP: hostIPs[0] ?? '', allocatable, podIPs: ips };
}

export async function makeSandboxConfig(context: PodContext, pod: Pod, attempt: number): Promise<PodSandboxConfig> {
  const { hostname } = podHostname(pod, context.clusterDNS.domain);
  const parent = context.cgroups?.parentOf(pod);
  return sandboxConfig({
    pod,
    attempt,
    labels: context.labels,
    hostname,
    logDirectory: podLogDirectory(context, pod),
    dns: podDNS(pod, context.clusterDNS, await context.hostDNS()),
    ...(parent === undefined ? {} : { cgroupParent: parent }),
  });
}

/** Creates and starts the pod's sandbox. Throws StartError after a FailedCreatePodSandBox event. */
export async function startSandbox(context: PodContext, pod: Pod, attempt: number): Promise<void> {
  try {
    const config = await makeSandboxConfig(context, pod, attempt);
    await context.cgroups?.create(pod);
    await context.logFiles.makeDirectory(config.logDirectory);
    await context.cri.runPodSandbox(config, '');
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    const message = `Failed to create pod sandbox: ${text}`;
    context.events.pod(pod, 'Warning', 'FailedCreatePodSandBox', message);
    throw new StartError('CreatePodSandboxError', message, context.clock.now() + retryMs, { cause: error });
  }
}

export interface StartOptions {
  readonly pod: Pod;
  readonly runtime: PodRuntime;
  readonly start: ContainerStart;
  readonly volumes: ReadonlyMap<string, string>;
  readonly sandboxId: string;
  readonly sandbox: PodSandboxConfig;
  /** Aborts the wait for the image when the pod is to end. */
  readonly signal: AbortSignal;
}

/** Starts one container and returns its id. Throws StartError; rejects with the signal's reason when it aborts. */
export async function startContainer(context: PodContext, options: StartOptions): Promise<string> {
  const { events, cri, clock } = context;
  const { pod, start, sandboxId, sandbox } = options;
  const { container } = start;
  const image = await ensureImage(context, options);
  const later = () => clock.now() + retryMs;
  let id: string;
  try {
    const config = await makeContainerConfig(context, options, image);
    await context.logFiles.makeDirectory(join(sandbox.logDirectory, container.name));
    id = await cri.createContainer(sandboxId, config, sandbox);
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    events.container(pod, container, 'Warning', 'Failed', `Error: ${text}`);
    const reason = error instanceof ContainerConfigError ? 'CreateContainerConfigError' : 'CreateContainerError';
    throw new StartError(reason, text, later(), { cause: error });
  }
  events.container(pod, container, 'Normal', 'Created', `Created container ${container.name}`);
  try {
    await cri.startContainer(id);
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    events.container(pod, container, 'Warning', 'Failed', `Error: ${text}`);
    throw new StartError('RunContainerError', text, 0, { cause: error });
  }
  events.container(pod, container, 'Normal', 'Started', `Started container ${container.name}`);
  await runPostStart(context, options, id);
  return id;
}

async function ensureImage(context: PodContext, { pod, start, sandbox, signal }: StartOptions): Promise<Image> {
  const { container } = start;
  let onAbort = () => {};
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => reject(signal.reason as Error);
    signal.addEventListener('abort', onAbort, { once: true });
  });
  aborted.catch(() => undefined);
  try {
    return await Promise.race([context.puller.ensure(pod, container, sandbox), aborted]);
  } catch (error) {
    if (!(error instanceof ImageError)) throw error;
    // A BackOff event has been made for this one already.
    if (error.reason !== 'ImagePullBackOff') {
      context.events.container(pod, container, 'Warning', 'Failed', `Error: ${error.reason}`);
    }
    throw new StartError(error.reason, error.message, error.retryAt, { cause: error });
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

async function makeContainerConfig(context: PodContext, options: StartOptions, image: Image) {
  const { pod, runtime, start } = options;
  const { container, attempt } = start;
  const { namespace = '', uid = '' } = pod.metadata;
  verifyNonRoot(pod, container, image);
  const facts = podFacts(context, pod, runtime);
  const environment = await containerEnvironment({
    pod,
    container,
    facts,
    services: serviceVariables(
      context.services(),
      { namespace, enableServiceLinks: pod.spec.enableServiceLinks !== false },
      context.dialect,
    ),
    configMap: (name) => context.objects.get<ConfigMap>(configmaps, { namespace, name }, uid),
    secret: (name) => context.objects.get<Secret>(secrets, { namespace, name }, uid),
    onInvalidKeys: (source, keys) =>
      context.events.pod(
        pod,
        'Warning',
        'InvalidEnvironmentVariableNames',
        `Keys [${keys.join(', ')}] from the EnvFrom ${source} were skipped since they are considered invalid environment variable names.`,
      ),
  });
  const { hostname, hostDomain } = podHostname(pod, context.clusterDNS.domain);
  let mounts: Mount[] = [];
  if (context.directories !== undefined) {
    mounts = await containerMounts(
      {
        pod,
        container,
        attempt,
        volumes: options.volumes,
        environment,
        podIPs: facts.podIPs,
        hostname,
        hostDomain,
        productName: context.dialect.displayName,
        log: context.log,
      },
      context.directories,
    );
  }
  const target = ephemeralTarget(options);
  return containerConfig({
    pod,
    container,
    attempt,
    labels: context.labels,
    image,
    environment,
    mounts,
    resources: containerResources(pod, container, {
      memoryCapacityBytes: context.node().memoryCapacityBytes,
      quota: context.quota,
    }),
    security: context.security,
    ...(target === undefined ? {} : { targetId: target }),
  });
}

/** Id of the container whose processes an ephemeral container is to see. */
function ephemeralTarget({ pod, start, runtime }: StartOptions): string | undefined {
  if (start.kind !== 'ephemeral') return undefined;
  const spec = pod.spec.ephemeralContainers?.find((container) => container.name === start.container.name);
  const target = spec?.targetContainerName ?? '';
  return target === '' ? undefined : newestContainer(runtime, target)?.id;
}

async function runPostStart(context: PodContext, options: StartOptions, containerId: string): Promise<void> {
  const { pod, start, runtime } = options;
  const { container } = start;
  const hook = container.lifecycle?.postStart;
  if (hook === undefined) return;
  const podIP = podIPs(runtime)[0] ?? '';
  const noLimitMs = 3_600_000;
  const result = await context.checker.check(hook, { pod, container, containerId, podIP }, noLimitMs);
  if (result.success) return;
  const message = `PostStartHook failed: ${result.output}`;
  context.events.container(pod, container, 'Warning', 'FailedPostStartHook', message);
  context.events.container(pod, container, 'Normal', 'Killing', 'FailedPostStartHook');
  await context.cri.stopContainer(containerId, pod.spec.terminationGracePeriodSeconds ?? 30);
  throw new StartError('PostStartHookError', message, 0);
}
