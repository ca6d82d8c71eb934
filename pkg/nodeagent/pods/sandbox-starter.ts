/** Configures, creates and starts the sandboxes of pods. */

import { join } from 'node:path';
import type { Pod } from '#api/core/v1/types.gen.js';
import { runtimeclasses } from '#api/node/v1/resources.gen.js';
import type { Clock } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { notFound } from '#apimachinery/errors/status.js';
import type { DNSConfig, PodSandboxConfig, RuntimeService } from '#nodeagent/cri/cri.js';
import { rpcMessageOf } from '#nodeagent/cri/errors.js';
import { type ClusterDNS, type DNSForming, podDNS, type SearchLimits } from '#nodeagent/environment/dns.js';
import { podHostname } from '#nodeagent/environment/hosts-file.js';
import type { PodEvents } from '#nodeagent/events/pod-events.js';
import type { LogFiles } from '#nodeagent/logs/log-files.js';
import type { AgentMetrics } from '#nodeagent/metrics/agent-metrics.js';
import type { ReferencedObjects } from '#nodeagent/objects/referenced-objects.js';
import { logDirectoryName, sandboxConfig } from '#nodeagent/pods/runtime-config.js';
import { StartError, startRetryMs } from '#nodeagent/pods/start-backoff.js';
import type { PodCgroups } from '#nodeagent/resources/cgroups.js';
import type { CPUQuota } from '#nodeagent/resources/container-resources.js';
import type { RuntimeLabels } from '#nodeagent/runtime/labels.js';

export interface SandboxStarterOptions {
  readonly clock: Clock;
  readonly cri: Pick<RuntimeService, 'runPodSandbox'>;
  readonly events: PodEvents;
  readonly metrics: AgentMetrics;
  readonly labels: RuntimeLabels;
  readonly cgroups?: Pick<PodCgroups, 'create' | 'parentOf'>;
  readonly logFiles: Pick<LogFiles, 'makeDirectory'>;
  readonly podLogsDir: string;
  readonly clusterDNS: ClusterDNS;
  readonly hostDNS: () => Promise<DNSConfig>;
  readonly searchLimits: SearchLimits;
  readonly quota: CPUQuota;
  readonly dialect: Dialect;
  readonly objects: Pick<ReferencedObjects, 'get'>;
}

export class SandboxStarter {
  readonly #options: SandboxStarterOptions;

  constructor(options: SandboxStarterOptions) {
    this.#options = options;
  }

  /** `report` reports DNS settings of the pod that were dropped. */
  async config(pod: Pod, attempt: number, report?: DNSForming['report']): Promise<PodSandboxConfig> {
    const { labels, cgroups, podLogsDir, clusterDNS, hostDNS, searchLimits: limits, dialect, quota } = this.#options;
    const forming = { limits, agent: dialect.components.nodeAgent, ...(report && { report }) };
    const { name = '', namespace = '', uid = '' } = pod.metadata;
    const parent = cgroups?.parentOf(pod);
    return sandboxConfig({
      pod,
      quota,
      attempt,
      labels,
      hostname: podHostname(pod, clusterDNS.domain).hostname,
      logDirectory: join(podLogsDir, logDirectoryName({ name, namespace, uid })),
      dns: podDNS(pod, clusterDNS, await hostDNS(), forming),
      ...(parent === undefined ? {} : { cgroupParent: parent }),
    });
  }

  /** Creates and starts the pod's sandbox; returns its ID. Throws StartError after a FailedCreatePodSandBox event. */
  async start(pod: Pod, attempt: number): Promise<string> {
    const { cri, cgroups, logFiles, events, metrics, clock } = this.#options;
    metrics.startedPods.inc();
    try {
      const config = await this.config(pod, attempt, (reason, message) => events.pod(pod, 'Warning', reason, message));
      await cgroups?.create(pod);
      await logFiles.makeDirectory(config.logDirectory);
      return await cri.runPodSandbox(config, await this.#runtimeHandler(pod));
    } catch (error) {
      const text = rpcMessageOf(error);
      const message = `Failed to create pod sandbox: ${text}`;
      metrics.startedPodErrors.inc();
      events.pod(pod, 'Warning', 'FailedCreatePodSandBox', message);
      throw new StartError('CreatePodSandboxError', message, clock.monotonic() + startRetryMs, { cause: error });
    }
  }

  /** The runtime handler of the pod's RuntimeClass. Throws NotFound if the class does not exist. */
  async #runtimeHandler({ spec, metadata }: Pod): Promise<string> {
    const name = spec.runtimeClassName ?? '';
    if (name === '') return '';
    const { objects, dialect } = this.#options;
    const runtimeClass = await objects.get(runtimeclasses, { namespace: '', name }, metadata.uid ?? '');
    if (runtimeClass === undefined)
      throw notFound({ group: dialect.groupName('node'), resource: 'runtimeclass' }, name);
    return runtimeClass.handler;
  }
}
