/** What a node agent is given: the world around it. */
import type { Registry } from 'prom-client';
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

export interface NodeAgentDependencies {
  /** Started and ended by the caller; may be shared by the node agents of a process, with all that they watch. */
  readonly informers: InformerFactory;
  readonly clock: Clock;
  /** Returns [0, 1). */
  readonly random: () => number;
  readonly log: Logger;
  readonly cri: CRI;
  /** The node's name, in lower case. */
  readonly nodeName: string;
  /** Default: the machine that this process runs on. */
  readonly machine?: Machine;
  /** Default: checks through the runtime and the network. */
  readonly checker?: Checker;
  /** Default: files on disk. */
  readonly logFiles?: LogFiles;
  /** False for runtimes whose containers see no files: volumes are resolved, but nothing is written. Default true. */
  readonly writeFiles?: boolean;
  /** Default: an own one. Sharing it among the agents of a process shares the watches of ConfigMaps and Secrets. */
  readonly objects?: ReferencedObjects;
  /**
   * For events, the heartbeat, the statuses of pods, their tokens and what they refer to, each with a rate of its own: many pods that start
   * at once need many of each. Default: the client of `informers`.
   */
  readonly eventClient?: Client;
  readonly heartbeatClient?: Client;
  readonly statusClient?: Client;
  readonly tokenClient?: Client;
  /** For the ConfigMaps and Secrets of pods. */
  readonly objectClient?: Client;
  /** Default: events to the API. */
  readonly recorder?: EventRecorder;
  /** There is no API: the node is not registered, and runs static pods only. */
  readonly isStandalone?: boolean;
  /** Takes the agent's series; one agent per registry. */
  readonly metrics?: Registry;
  /** Where addresses of load balancers are put; absent: none is announced. */
  readonly links?: AnnouncerLinks;
  /** Makes the server of logs and sessions; absent: there is none, and the node reports port 0. */
  readonly server?: AgentServerFactory;
  /** Of the work on pods; absent: nothing is traced. */
  readonly tracer?: Pick<Tracer, 'begin' | 'call'>;
}
