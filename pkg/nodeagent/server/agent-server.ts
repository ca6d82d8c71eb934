/** The interface between the node agent and its server. */
import type { Pod } from '#api/core/v1/types.gen.js';
import type { Clock } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { Logger } from '#daemon/log/logger.js';
import type { CRI } from '#nodeagent/cri/cri.js';
import type { CSIStats } from '#nodeagent/csi/volumes/csi-stats.js';
import type { PodEvents } from '#nodeagent/events/pod-events.js';
import type { LogFiles } from '#nodeagent/logs/log-files.js';
import type { Machine } from '#nodeagent/node/machine.js';
import type { NodeAgentOptions } from '#nodeagent/options/declarations.js';
import type { Prober } from '#nodeagent/probes/prober.js';
import type { CgroupHierarchy, SystemPaths } from '#nodeagent/resources/cgroup-settings.js';
import type { PodCgroups } from '#nodeagent/resources/cgroups.js';
import type { RuntimeObserver } from '#nodeagent/runtime/observer.js';
import type { StatusManager } from '#nodeagent/status/manager.js';
import type { LocalVolumeDirectories } from '#nodeagent/volumes/local-directories.js';
import type { PodDirectories } from '#nodeagent/volumes/pod-directories.js';
import type { PodVolumes } from '#nodeagent/volumes/pod-volumes.js';

export interface AgentServer {
  /** The port it listens on. */
  readonly port: number;
  close(): Promise<void>;
}

/** The pods of the node. */
export interface ServedPods {
  /** In their last version from the API. */
  list(): readonly Pod[];
  /** `uid`: that of the pod, or of a static pod's mirror pod; absent: any pod of that name. */
  find(namespace: string, name: string, uid?: string): Pod | undefined;
}

/** Parts of the node that the server exposes. */
export interface ServedNode {
  readonly clock: Clock;
  readonly log: Logger;
  readonly dialect: Dialect;
  readonly cri: CRI;
  readonly observer: Pick<RuntimeObserver, 'get' | 'onChange'>;
  readonly statuses: Pick<StatusManager, 'get' | 'latest'>;
  readonly prober: Pick<Prober, 'counts'>;
  readonly logFiles: LogFiles;
  readonly podLogsDir: string;
  readonly volumes: Pick<PodVolumes, 'volumeAt'>;
  readonly events: Pick<PodEvents, 'pod'>;
  /** Measures the volumes of drivers; absent, like `directories`, on nodes that write no files. */
  readonly csi?: { readonly stats: Pick<CSIStats, 'ofPod'> };
  readonly directories?: PodDirectories;
  readonly localVolumes: LocalVolumeDirectories;
  /** Absent if pods have no cgroups. */
  readonly cgroups?: PodCgroups;
  /** Absent for simulated nodes. */
  readonly hierarchy?: CgroupHierarchy;
  readonly systemPaths?: SystemPaths;
  readonly nodeName: string;
  /** The node's first address. */
  readonly hostIP: () => string;
  /** All addresses of the node. */
  readonly hostIPs: () => readonly string[];
}

export interface AgentServerInput {
  readonly node: ServedNode;
  readonly pods: ServedPods;
  readonly options: NodeAgentOptions;
  readonly machine: Machine;
}

/** Creates a server that is already listening. */
export type AgentServerFactory = (input: AgentServerInput) => Promise<AgentServer>;
