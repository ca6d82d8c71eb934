/** Observes the cluster on this machine: the options of its daemons, its files, and its objects. */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { getuid } from 'node:process';
import { type Dialect, dialectByName } from '#apimachinery/dialect.js';
import { readAuditPolicy } from '#apiserver/build/audit-policy.js';
import { apiServerOptions } from '#apiserver/options/options.js';
import type { RestClient } from '#client/rest/rest-client.js';
import type { AgentFacts, ClusterFacts, FileFacts, ServerFacts } from '#cluster/check/cis/facts.js';
import { objectFacts } from '#cluster/check/cis/object-facts.js';
import type { Layout } from '#cluster/config/layout.js';
import type { ClusterSettings } from '#cluster/config/settings.js';
import { agentRecord, recordedArguments } from '#cluster/supervise/recorded-arguments.js';
import { SetupError } from '#cluster/terminal/setup-error.js';
import { cniConfigFile } from '#containerd/config.js';
import { controllerManagerOptions } from '#controllers/options/options.js';
import type { OptionTable } from '#daemon/options/option.js';
import { type ParsedOptions, parseOptions } from '#daemon/options/parse.js';
import { applyConfigFile } from '#nodeagent/options/config/file.js';
import { nodeAgentOptionTable } from '#nodeagent/options/options.js';
import { schedulerOptions } from '#scheduler/options/options.js';
import { parseEncryptionConfig } from '#storage/encryption/encryption-config.js';

export interface Observed {
  readonly layout: Layout;
  readonly settings: ClusterSettings;
  /** Path of the systemd unit; it need not exist. */
  readonly unit: string;
  /** Undefined on a machine that has joined as a node: its certificate may not read the objects. */
  readonly client: RestClient | undefined;
}

/** Rejects with a SetupError where the cluster was not started by these programs. */
export async function gatherFacts({ layout, settings, unit, client }: Observed): Promise<ClusterFacts> {
  const dialect = dialectByName(settings.dialect);
  const user = getuid?.() ?? 0;
  const agents: AgentFacts[] = [];
  for (const name of settings.nodes) agents.push(await agentFacts(layout, name, dialect));
  return {
    server: settings.joined === undefined ? await serverFacts(layout, dialect, user) : undefined,
    node: { agents, unit: filesAt(unit), user },
    objects: client && (await objectFacts(client)),
  };
}

async function serverFacts(layout: Layout, dialect: Dialect, user: number): Promise<ServerFacts> {
  const { values: apiServer } = parsed(layout, 'orch-apiserver', apiServerOptions(dialect));
  const { values: controllerManager } = parsed(layout, 'orch-controller-manager', controllerManagerOptions(dialect));
  const { values: scheduler } = parsed(layout, 'orch-scheduler', schedulerOptions(dialect));
  const etcd = recordedArguments(layout, 'etcd');
  const [policy, encryption] = [apiServer['audit-policy-file'] ?? '', apiServer['encryption-provider-config'] ?? ''];
  const pki = readdirSync(layout.pki).map((name) => join(layout.pki, name));
  return {
    dialect,
    isOneProcess: (controllerManager.orchconfig ?? '') === '',
    apiServer,
    controllerManager,
    scheduler,
    etcd: etcd && optionsOf(etcd),
    etcdDirectory: filesAt(layout.etcd)[0],
    clientConfig: filesAt(layout.clientConfig),
    schedulerConfig: filesAt(layout.componentConfig('scheduler')),
    managerConfig: filesAt(layout.componentConfig('controller-manager')),
    certificates: filesAt(...pki.filter((path) => path.endsWith('.crt') || path.endsWith('.pub'))),
    keys: filesAt(...pki.filter((path) => path.endsWith('.key'))),
    policy: policy === '' ? undefined : await readAuditPolicy(policy, dialect),
    encryption: encryption === '' ? undefined : parseEncryptionConfig(readFileSync(encryption, 'utf8'), dialect),
    user,
  };
}

async function agentFacts(layout: Layout, name: string, dialect: Dialect): Promise<AgentFacts> {
  const table = nodeAgentOptionTable(dialect);
  const given = parsed(layout, agentRecord(name), table);
  const path = given.values.config ?? '';
  const { values } = path === '' ? given : await applyConfigFile(table, given, { path, dialect });
  const [config, authority] = [values.kubeconfig ?? '', values['client-ca-file'] ?? ''];
  return {
    name,
    values,
    clientConfig: config === '' ? [] : filesAt(config),
    configFile: path === '' ? [] : filesAt(path),
    authorities: authority === '' ? [] : filesAt(authority),
    networkConfig: filesAt(join(layout.runtime(name), cniConfigFile)),
  };
}

/** The options with which the daemon runs, defaults included. */
function parsed<T extends OptionTable>(layout: Layout, daemon: string, table: T): ParsedOptions<T> {
  const args = recordedArguments(layout, daemon);
  if (args === undefined)
    throw new SetupError(`${daemon} was started by programs of another release; restart the cluster`);
  const result = parseOptions(table, args, { program: daemon });
  if (result.kind !== 'run') throw new SetupError(`${daemon} was started for its ${result.kind} only`);
  return result;
}

/** `--name=value` as a map. */
function optionsOf(args: readonly string[]): ReadonlyMap<string, string> {
  return new Map(
    args.map((arg) => {
      const [name = '', ...value] = arg.replace(/^--/, '').split('=');
      return [name, value.join('=')];
    }),
  );
}

/** Those of the paths that exist. */
function filesAt(...paths: readonly string[]): FileFacts[] {
  return paths
    .filter((path) => existsSync(path))
    .map((path) => {
      const { mode, uid, gid } = statSync(path);
      return { path, mode: mode & 0o777, owner: uid, group: gid };
    });
}
