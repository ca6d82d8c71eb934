/** What the node agent needs of its server, and the server of the agent. */
import type { Machine } from '#nodeagent/node/machine.js';
import type { NodeAgentOptions } from '#nodeagent/options/declarations.js';
import type { PodContext } from '#nodeagent/pods/context.js';
import type { PodManager } from '#nodeagent/pods/manager.js';

export interface AgentServer {
  /** What it listens on. */
  readonly port: number;
  close(): Promise<void>;
}

export interface AgentServerInput {
  readonly context: PodContext;
  readonly pods: PodManager;
  readonly options: NodeAgentOptions;
  readonly machine: Machine;
}

/** Makes a server that listens already. */
export type AgentServerFactory = (input: AgentServerInput) => Promise<AgentServer>;
