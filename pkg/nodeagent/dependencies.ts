/** Dependencies of a node agent. */
import type { Registry } from 'prom-client';
import type { Pod } from '#api/core/v1/types.gen.js';
import type { Clock } from '#apimachinery/clock.js';
import type { Client } from '#client/client.js';
import type { EventRecorder } from '#client/events/recorder.js';
import type { InformerFactory } from '#client/informer/informer.js';
import type { Logger } from '#daemon/log/logger.js';
import type { Tracer } from '#daemon/tracing/tracer.js';
import type { AnnouncerLinks } from '#nodeagent/announce/announcer.js';
import type { CRI } from '#nodeagent/cri/cri.js';
import type { LogFiles } from '#nodeagent/logs/log-files.js';
import type { Machine } from '#nodeagent/node/machine.js';
import type { ReferencedObjects } from '#nodeagent/objects/referenced-objects.js';
import type { Checker } from '#nodeagent/probes/checker.js';
import type { AgentServerFactory } from '#nodeagent/server/agent-server.js';
import type { ShutdownSettings } from '#nodeagent/shutdown/groups.js';
import type { Logind } from '#nodeagent/shutdown/logind.js';

/** What a simulated runtime uses of its agent, beyond the runtime's interface. */
export interface SimulatedRuntimeAgent {
  /** The pod as it is now; undefined if the node does not have it. */
  pod(metadata: { readonly namespace: string; readonly name: string; readonly uid: string }): Pod | undefined;
  /** Records a warning event of the pod, and logs it. */
  warn(pod: Pod, reason: string, message: string): void;
}

export interface NodeAgentDependencies {
  /** Started and stopped by the caller; the node agents of a process may share it and its watches. */
  readonly informers: InformerFactory;
  readonly clock: Clock;
  /** Returns [0, 1). */
  readonly random: () => number;
  readonly log: Logger;
  readonly cri: CRI;
  /** The node's name in lower case. */
  readonly nodeName: string;
  /** Default: the machine that this process runs on. */
  readonly machine?: Machine;
  /** Default: checks through the runtime and the network. */
  readonly checker?: Checker;
  /** Default: files on disk. */
  readonly logFiles?: LogFiles;
  /** False for runtimes without files: volumes are resolved, but nothing is written. Default true. */
  readonly writeFiles?: boolean;
  /** Default: its own. The agents of a process share watches of ConfigMaps and Secrets by sharing it. */
  readonly objects?: ReferencedObjects;
  /**
   * Clients with their own rates for events, heartbeats, statuses and tokens, since many starting pods need many of
   * each. Default: the client of `informers`.
   */
  readonly eventClient?: Client;
  readonly heartbeatClient?: Client;
  readonly statusClient?: Client;
  readonly tokenClient?: Client;
  /** For ConfigMaps and Secrets of pods. */
  readonly objectClient?: Client;
  /** Default: writes events to the API. */
  readonly recorder?: EventRecorder;
  /** A simulated runtime, which behaves by the pods' specification; absent: a real one. */
  readonly simulation?: { connectAgent(agent: SimulatedRuntimeAgent): void };
  /** Without an API: the node is not registered, and runs static pods only. */
  readonly isStandalone?: boolean;
  /** Registry of the agent's metrics; one agent per registry. */
  readonly metrics?: Registry;
  /** Network interfaces for addresses of load balancers; absent: none are announced. */
  readonly links?: AnnouncerLinks;
  /** Ends pods before the machine shuts down; absent: shutdowns are not seen. */
  readonly shutdown?: { readonly settings: ShutdownSettings; readonly logind: Logind };
  /** Builds the server of logs and sessions; absent: none, and the node reports port 0. */
  readonly server?: AgentServerFactory;
  /** Traces work on pods; absent: no tracing. */
  readonly tracer?: Pick<Tracer, 'begin' | 'call'>;
}
