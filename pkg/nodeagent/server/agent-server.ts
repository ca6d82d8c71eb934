/** What the node agent needs of its server, and the server of the agent. */
import type { Pod } from '#api/core/v1/types.gen.js';
import type { Clock } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { Logger } from '#daemon/log/logger.js';
import type { CRI } from '#nodeagent/cri/cri.js';
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
  /** What it listens on. */
  readonly port: number;
  close(): Promise<void>;
}

/** The pods that the node runs. */
export interface ServedPods {
  /** As last seen from the API. */
  list(): readonly Pod[];
  /** @param uid Of that pod, or of the image that stands for a static pod in the API; absent: whichever has the name. */
  find(namespace: string, name: string, uid?: string): Pod | undefined;
}

/** What the server tells of, and works on. */
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
  readonly volumes: Pick<PodVolumes, 'nameOf'>;
  /** Absent on nodes that write no files. */
  readonly directories?: PodDirectories;
  readonly localVolumes: LocalVolumeDirectories;
  /** Absent where pods have none. */
  readonly cgroups?: PodCgroups;
  /** Absent for a node that is no machine. */
  readonly hierarchy?: CgroupHierarchy;
  readonly systemPaths?: SystemPaths;
  readonly nodeName: string;
  /** The node's first address. */
  readonly hostIP: () => string;
  /** All of them. */
  readonly hostIPs: () => readonly string[];
}

export interface AgentServerInput {
  readonly node: ServedNode;
  readonly pods: ServedPods;
  readonly options: NodeAgentOptions;
  readonly machine: Machine;
}

/** Makes a server that listens already. */
export type AgentServerFactory = (input: AgentServerInput) => Promise<AgentServer>;
