/** What is observed of a cluster on this machine, for the checks of its safety. */
import type { Dialect } from '#apimachinery/dialect.js';
import type { Policy } from '#apiserver/audit/policy.js';
import type { ApiServerValues } from '#apiserver/options/options.js';
import type { ObjectFacts } from '#cluster/check/cis/object-facts.js';
import type { ControllerManagerValues } from '#controllers/options/options.js';
import type { NodeAgentOptions } from '#nodeagent/options/declarations.js';
import type { SchedulerOptionValues } from '#scheduler/options/options.js';
import type { EncryptionRule } from '#storage/encryption/encryption-config.js';

export interface FileFacts {
  readonly path: string;
  /** Permission bits. */
  readonly mode: number;
  readonly owner: number;
  readonly group: number;
}

export interface ServerFacts {
  readonly dialect: Dialect;
  /** The daemons share the process of the API server. */
  readonly isOneProcess: boolean;
  readonly apiServer: ApiServerValues;
  readonly controllerManager: ControllerManagerValues;
  readonly scheduler: SchedulerOptionValues;
  /** Options of the cluster's own etcd; undefined: it has none. */
  readonly etcd: ReadonlyMap<string, string> | undefined;
  readonly etcdDirectory: FileFacts | undefined;
  readonly clientConfig: readonly FileFacts[];
  readonly schedulerConfig: readonly FileFacts[];
  readonly managerConfig: readonly FileFacts[];
  readonly certificates: readonly FileFacts[];
  readonly keys: readonly FileFacts[];
  /** Undefined without an audit policy. */
  readonly policy: Policy | undefined;
  /** Undefined without an encryption configuration. */
  readonly encryption: readonly EncryptionRule[] | undefined;
  /** User of the cluster's processes. */
  readonly user: number;
}

export interface AgentFacts {
  readonly name: string;
  readonly values: NodeAgentOptions;
  /** Its client configuration; empty where it shares the process of the API server. */
  readonly clientConfig: readonly FileFacts[];
  readonly configFile: readonly FileFacts[];
  /** Bundle that verifies its clients. */
  readonly authorities: readonly FileFacts[];
  /** Configuration of the pod network. */
  readonly networkConfig: readonly FileFacts[];
}

export interface NodeFacts {
  readonly agents: readonly AgentFacts[];
  /** The systemd unit, if the machine has one. */
  readonly unit: readonly FileFacts[];
  readonly user: number;
}

export interface ClusterFacts {
  /** Undefined on a machine that has joined as a node. */
  readonly server: ServerFacts | undefined;
  readonly node: NodeFacts;
  /** Undefined on a machine that has joined as a node. */
  readonly objects: ObjectFacts | undefined;
}
