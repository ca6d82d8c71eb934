/** What all pod workers of a node share. */
import type { Service } from '#api/core/v1/types.gen.js';
import type { Clock } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { Client } from '#client/client.js';
import type { KeyedBackoff } from '#client/keyed-backoff.js';
import type { Logger } from '#daemon/log/logger.js';
import type { CRI, DNSConfig } from '#nodeagent/cri/cri.js';
import type { ClusterDNS } from '#nodeagent/environment/dns.js';
import type { PodEvents } from '#nodeagent/events/pod-events.js';
import type { ImagePuller } from '#nodeagent/images/puller.js';
import type { LogFiles } from '#nodeagent/logs/log-files.js';
import type { ReferencedObjects } from '#nodeagent/objects/referenced-objects.js';
import type { SecuritySettings } from '#nodeagent/pods/security.js';
import type { Checker } from '#nodeagent/probes/checker.js';
import type { Prober } from '#nodeagent/probes/prober.js';
import type { PodCgroups } from '#nodeagent/resources/cgroups.js';
import type { CPUQuota } from '#nodeagent/resources/container-resources.js';
import type { RuntimeLabels } from '#nodeagent/runtime/labels.js';
import type { RuntimeObserver } from '#nodeagent/runtime/observer.js';
import type { StatusManager } from '#nodeagent/status/manager.js';
import type { PodDirectories } from '#nodeagent/volumes/pod-directories.js';
import type { PodVolumes } from '#nodeagent/volumes/pod-volumes.js';

/** What the node tells its pods. */
export interface NodeFacts {
  readonly nodeName: string;
  /** One, or one of each family; see `NodeRegistrar.hostIPs`. */
  readonly hostIPs: readonly string[];
  readonly allocatable: Readonly<Record<string, string>>;
  readonly memoryCapacityBytes: number;
}

export interface PodContext {
  readonly client: Client;
  readonly dialect: Dialect;
  readonly clock: Clock;
  readonly log: Logger;
  readonly cri: CRI;
  /** `containerd`, `simulated`: prefix of container ids in statuses. */
  readonly runtimeName: string;
  readonly labels: RuntimeLabels;
  readonly observer: RuntimeObserver;
  readonly statuses: StatusManager;
  readonly prober: Prober;
  readonly checker: Checker;
  readonly events: PodEvents;
  readonly puller: ImagePuller;
  readonly objects: ReferencedObjects;
  readonly volumes: PodVolumes;
  /** Absent on nodes that write no files. */
  readonly directories?: PodDirectories;
  readonly cgroups?: PodCgroups;
  readonly logFiles: LogFiles;
  readonly podLogsDir: string;
  /** Back-off of restarts, by pod and container. */
  readonly restarts: KeyedBackoff;
  readonly node: () => NodeFacts;
  readonly services: () => readonly Service[];
  readonly clusterDNS: ClusterDNS;
  readonly hostDNS: () => Promise<DNSConfig>;
  readonly security: SecuritySettings;
  readonly quota: CPUQuota;
}
