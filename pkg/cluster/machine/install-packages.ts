/** Installs the Debian packages that a machine lacks to join a cluster, if its user agrees. */
import { execFile } from 'node:child_process';
import { env, getuid, stdin, stdout } from 'node:process';
import { createInterface } from 'node:readline/promises';
import { promisify } from 'node:util';
import { messageOf } from '#apimachinery/errors/message.js';
import { findProgram, missingPackages } from '#cluster/machine/preflight.js';
import { type ProgressSink, step } from '#cluster/terminal/progress.js';
import { SetupError } from '#cluster/terminal/setup-error.js';
import { systemdRuns } from '#nodeagent/node/prerequisites.js';

export interface InstallRequest {
  /** The machine becomes a server, which needs more than a node. */
  readonly server: boolean;
  /** `--install` was given; else the user is asked at the terminal. */
  readonly isRequested: boolean;
}

/** System services that Debian starts for these packages; a cluster runs its own. */
const services: Readonly<Record<string, string>> = { containerd: 'containerd', 'etcd-server': 'etcd' };

/**
 * Does nothing when no package is missing, or when the user disagrees or may not install; a later check then refuses the
 * machine. Rejects with a SetupError that has apt-get's message.
 */
export async function installMissing({ server, isRequested }: InstallRequest, sink: ProgressSink): Promise<void> {
  const path = env['PATH'] ?? '';
  const packages = missingPackages(path, { server });
  const aptGet = findProgram('apt-get', path);
  if (packages.length === 0 || aptGet === undefined || getuid?.() !== 0) return;
  const names = packages.join(' ');
  if (!isRequested && !(await confirm(`This machine lacks ${names}. Install them with apt-get? [Y/n] `))) return;
  const install = () => run(aptGet, ['install', '--yes', '--quiet', '--no-install-recommends', ...packages]);
  await step(
    sink,
    'packages installed',
    // The package lists of a new machine may be empty.
    () => install().catch(() => run(aptGet, ['update', '--quiet']).then(install)),
    () => names,
  );
  if (!(await systemdRuns())) return;
  const started = packages.flatMap((name) => services[name] ?? []);
  if (started.length > 0) await run('systemctl', ['disable', '--now', ...started]);
}

/** Asks the user; false without a terminal. */
async function confirm(question: string): Promise<boolean> {
  if (!stdin.isTTY || !stdout.isTTY) return false;
  const terminal = createInterface({ input: stdin, output: stdout });
  try {
    return /^(y|yes|)$/i.test((await terminal.question(question)).trim());
  } finally {
    terminal.close();
  }
}

async function run(program: string, args: readonly string[]): Promise<void> {
  try {
    await promisify(execFile)(program, args, {
      env: { ...env, DEBIAN_FRONTEND: 'noninteractive' },
      maxBuffer: 16 * 1024 ** 2,
    });
  } catch (error) {
    throw new SetupError(`${program} ${args.join(' ')}: ${messageOf(error)}`, { cause: error });
  }
}
