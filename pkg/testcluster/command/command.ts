/** `orch test`: clusters for tests, from the command line. */
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { realClock } from '#apimachinery/clock.js';
import { programsFolder } from '#cluster/background/detached.js';
import { SetupError } from '#cluster/terminal/setup-error.js';
import { commandOptions } from '#cluster/terminal/subcommand.js';
import { OptionsError } from '#daemon/options/option.js';
import { reportOptions } from '#testcluster/command/fault-options.js';
import { untilEnd } from '#testcluster/command/lifetime.js';
import { clusterOptions, startOptions } from '#testcluster/command/options.js';
import { reported } from '#testcluster/command/reported.js';
import { runCommand } from '#testcluster/command/run-command.js';
import { type ClusterFacts, type RunningCluster, runCluster } from '#testcluster/command/running-cluster.js';
import { startInBackground } from '#testcluster/command/start.js';
import { clusterNames, stopCluster } from '#testcluster/command/stop.js';

const help = `Clusters for tests: an API server, controllers and simulated nodes in one process, with objects in memory.

Usage:
  orch test [flags] -- COMMAND ARGUMENT…   run a command with a cluster of its own
  orch test start [flags]                  leave a cluster running; it ends with the process that ran this
  orch test stop NAME…                     stop such clusters
  orch test list                           list them
  orch test serve [flags]                  serve a cluster until the input ends, or a signal comes

The command gets KUBECONFIG, KUBEBUILDER_ASSETS and USE_EXISTING_CLUSTER. Flags: orch test start --help
`;

/** Resolves with the exit code. */
export async function test(argv: readonly string[]): Promise<number> {
  const [name = 'help', ...rest] = argv;
  switch (name) {
    case 'help':
    case '--help':
    case '-h':
      process.stdout.write(help);
      return 0;
    case 'start':
      return start(rest);
    case 'serve':
      return serve(rest);
    case 'stop':
      return stop(rest);
    case 'list':
      for (const each of await clusterNames()) process.stdout.write(`${each}\n`);
      return 0;
    default:
      return runWith(argv);
  }
}

async function runWith(argv: readonly string[]): Promise<number> {
  const settings = { program: 'orch test', description: 'Runs a command with a cluster of its own.', allowArgs: true };
  const parsed = commandOptions({ ...clusterOptions, ...reportOptions }, argv, settings);
  if (parsed === undefined) return 0;
  const [command, ...args] = parsed.args;
  if (command === undefined) throw new OptionsError(['no command follows the flags: orch test [flags] -- COMMAND']);
  const cluster = await runCluster(parsed.values, assetsFolder());
  const { values } = parsed;
  return withCluster(cluster, async () => reported(cluster, values, await runCommand(cluster, command, args)));
}

async function serve(argv: readonly string[]): Promise<number> {
  const description = 'Serves a cluster until the input ends, or a signal comes.';
  const parsed = commandOptions(startOptions, argv, { program: 'orch test serve', description });
  if (parsed === undefined) return 0;
  const { json, owner } = parsed.values;
  const cluster = await runCluster(parsed.values, assetsFolder());
  return withCluster(cluster, async () => {
    process.stdout.write(json ? `${JSON.stringify(cluster.facts)}\n` : described(cluster.facts));
    const lasting = owner === 0 ? { input: process.stdin } : { owner };
    await untilEnd({ clock: realClock, failed: cluster.failed, ...lasting });
    return 0;
  });
}

async function start(argv: readonly string[]): Promise<number> {
  const description = 'Leaves a cluster running; it ends with the process that ran this, or by orch test stop.';
  const parsed = commandOptions(startOptions, argv, { program: 'orch test start', description });
  if (parsed === undefined) return 0;
  const { json, owner } = parsed.values;
  const facts = await startInBackground(argv, owner === 0 ? process.ppid : owner);
  process.stdout.write(json ? `${JSON.stringify(facts)}\n` : described(facts));
  return 0;
}

async function stop(names: readonly string[]): Promise<number> {
  if (names.length === 0) throw new OptionsError(['no cluster is named: orch test stop NAME']);
  for (const name of names) await stopCluster(name);
  return 0;
}

/** Closes the cluster whatever the work does. */
async function withCluster(cluster: RunningCluster, work: () => Promise<number>): Promise<number> {
  try {
    return await work();
  } finally {
    await cluster.close();
  }
}

function described({ name, env }: ClusterFacts): string {
  const variables = Object.entries(env).map(([key, value]) => `export ${key}=${value}\n`);
  return `${variables.join('')}# stop it: orch test stop ${name}\n`;
}

/** The programs beside this one, in the project or in its archive. */
function assetsFolder(): string {
  // dist/bundle or dist/cmd, below the project's folder.
  const folder = join(dirname(dirname(programsFolder())), 'bin', 'envtest');
  if (!existsSync(folder)) throw new SetupError(`the programs for tests are missing: ${folder}`);
  return folder;
}
