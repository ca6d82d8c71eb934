/** Starts containers: image, configuration, create, start, hook; each failure has its own reason. */

import { join } from 'node:path';
import { unlessAborted } from '#apimachinery/async/abort.js';
import type { Clock } from '#apimachinery/clock.js';
import { messageOf } from '#apimachinery/errors/message.js';
import type { Logger } from '#daemon/log/logger.js';
import type { Allocations } from '#nodeagent/allocation/allocations.js';
import type { Image, PodSandboxConfig, RuntimeService } from '#nodeagent/cri/cri.js';
import { ContainerConfigError } from '#nodeagent/environment/environment.js';
import type { PodEvents } from '#nodeagent/events/pod-events.js';
import { ImageError, type ImagePuller } from '#nodeagent/images/puller.js';
import type { LogFiles } from '#nodeagent/logs/log-files.js';
import type { LogLinks } from '#nodeagent/logs/log-links.js';
import type { AgentMetrics } from '#nodeagent/metrics/agent-metrics.js';
import type { ContainerConfigurator, ContainerToConfigure } from '#nodeagent/pods/container-configurator.js';
import { type ContainerKiller, defaultGraceSeconds } from '#nodeagent/pods/container-killer.js';
import { runHook } from '#nodeagent/pods/hooks.js';
import type { ContainerKind } from '#nodeagent/pods/plan.js';
import { logPath } from '#nodeagent/pods/runtime-config.js';
import { StartError, startRetryMs } from '#nodeagent/pods/start-backoff.js';
import type { Checker } from '#nodeagent/probes/checker.js';
import { podIPs } from '#nodeagent/runtime/pod-runtime.js';

export interface ContainerStarterOptions {
  readonly clock: Clock;
  readonly cri: Pick<RuntimeService, 'createContainer' | 'startContainer'>;
  readonly events: PodEvents;
  readonly metrics: AgentMetrics;
  readonly checker: Checker;
  readonly killer: Pick<ContainerKiller, 'kill'>;
  readonly puller: Pick<ImagePuller, 'ensure'>;
  readonly log: Logger;
  readonly logFiles: Pick<LogFiles, 'makeDirectory'>;
  /** Absent on nodes that write no files. */
  readonly logLinks?: Pick<LogLinks, 'add'>;
  readonly configurator: ContainerConfigurator;
  readonly allocations: Pick<Allocations, 'starting'>;
}

export interface StartOptions extends ContainerToConfigure {
  readonly sandboxId: string;
  readonly sandbox: PodSandboxConfig;
  /** Aborts waiting for images and hooks when the pod is to end. */
  readonly signal: AbortSignal;
}

/** PostStart hooks have no time limit in the API. */
const postStartLimitMs = 3_600_000;

const containerTypes: Readonly<Record<ContainerKind, string>> = {
  main: 'container',
  init: 'init_container',
  ephemeral: 'ephemeral_container',
};

export class ContainerStarter {
  readonly #options: ContainerStarterOptions;

  constructor(options: ContainerStarterOptions) {
    this.#options = options;
  }

  /** Starts one container and returns its ID. Throws StartError; rejects with the signal's reason when it aborts. */
  async start(options: StartOptions): Promise<string> {
    const { metrics } = this.#options;
    const type = containerTypes[options.start.kind];
    metrics.startedContainers.labels(type).inc();
    try {
      return await this.#createAndStart(options);
    } catch (error) {
      if (error instanceof StartError) metrics.startedContainerErrors.labels(type, error.reason).inc();
      throw error;
    }
  }

  async #createAndStart(options: StartOptions): Promise<string> {
    const { events, cri, clock, logFiles, configurator, allocations } = this.#options;
    const { pod, start, sandboxId, sandbox } = options;
    const { container } = start;
    const image = await this.#ensureImage(options);
    let id: string;
    try {
      const config = await configurator.config(options, image);
      await logFiles.makeDirectory(join(sandbox.logDirectory, container.name));
      id = await cri.createContainer(sandboxId, config, sandbox);
    } catch (error) {
      const text = messageOf(error);
      events.container(pod, container, 'Warning', 'Failed', `Error: ${text}`);
      const reason = error instanceof ContainerConfigError ? 'CreateContainerConfigError' : 'CreateContainerError';
      throw new StartError(reason, text, clock.monotonic() + startRetryMs, { cause: error });
    }
    events.container(pod, container, 'Normal', 'Created', `Created container ${container.name}`);
    allocations.starting(pod, container, id);
    try {
      await cri.startContainer(id);
    } catch (error) {
      const text = messageOf(error);
      events.container(pod, container, 'Warning', 'Failed', `Error: ${text}`);
      const retryAt = clock.monotonic() + startRetryMs;
      throw new StartError('RunContainerError', text, retryAt, { cause: error, hasActed: true });
    }
    events.container(pod, container, 'Normal', 'Started', `Started container ${container.name}`);
    await this.#link(options, id);
    await this.#runPostStart(options, id);
    return id;
  }

  /** A missing log link does not fail the start. */
  async #link({ pod, start, sandbox }: StartOptions, id: string): Promise<void> {
    const { logLinks, log } = this.#options;
    const { name: podName = '', namespace = '' } = pod.metadata;
    const { name } = start.container;
    try {
      const path = join(sandbox.logDirectory, logPath(name, start.attempt));
      await logLinks?.add({ pod: podName, namespace, container: name, id }, path);
    } catch (error) {
      log.error({ err: error, namespace, name: podName, container: name }, 'failed to create the link to a log');
    }
  }

  async #ensureImage({ pod, start, sandbox, signal }: StartOptions): Promise<Image> {
    const { puller, events } = this.#options;
    const { container } = start;
    try {
      return await unlessAborted(puller.ensure({ pod, container, sandbox, signal }), signal);
    } catch (error) {
      if (!(error instanceof ImageError)) throw error;
      // The puller has already recorded a BackOff event.
      if (error.reason !== 'ImagePullBackOff') {
        events.container(pod, container, 'Warning', 'Failed', `Error: ${error.reason}`);
      }
      throw new StartError(error.reason, error.message, error.retryAt, { cause: error });
    }
  }

  /** When the pod is to end, stops waiting: the hook ends with its container. */
  async #runPostStart({ pod, start, runtime, signal }: StartOptions, containerId: string): Promise<void> {
    const { checker, events, killer, clock } = this.#options;
    const { container } = start;
    const hook = container.lifecycle?.postStart;
    if (hook === undefined) return;
    const podIP = podIPs(runtime)[0] ?? '';
    const target = { pod, container, containerId, podIP };
    const message = await unlessAborted(runHook(checker, hook, { target, limitMs: postStartLimitMs }), signal);
    if (message === undefined) return;
    events.container(pod, container, 'Warning', 'FailedPostStartHook', message);
    await killer.kill({
      ...{ pod, runtime, message: 'FailedPostStartHook' },
      container: {
        id: containerId,
        metadata: { name: container.name, attempt: start.attempt },
        state: 'CONTAINER_RUNNING',
      },
      graceSeconds: Number(pod.spec.terminationGracePeriodSeconds ?? defaultGraceSeconds),
    });
    throw new StartError('PostStartHookError', message, clock.monotonic() + startRetryMs, { hasActed: true });
  }
}
