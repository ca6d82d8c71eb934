/** Installs the Debian packages that a machine lacks to join a cluster, when its user agrees. */
import { execFile } from 'node:child_process';
import { env, getuid, stdin, stdout } from 'node:process';
import { createInterface } from 'node:readline/promises';
import { promisify } from 'node:util';
import { messageOf } from '#apimachinery/errors/message.js';
import { missingPackages } from '#cmd/orch/preflight.js';
import { findProgram } from '#cmd/orch/process/find-program.js';
import { type ProgressSink, step } from '#cmd/orch/terminal/progress.js';
import { SetupError } from '#cmd/orch/terminal/setup-error.js';
import { systemdRuns } from '#nodeagent/node/prerequisites.js';

export interface InstallWish {
  /** One more server needs more than a node. */
  readonly server: boolean;
  /** By `--install`; else whoever sits at the terminal is asked. */
  readonly isWished: boolean;
}

/** Debian starts what these have as a service of the system; a cluster runs its own. */
const services: Readonly<Record<string, string>> = { containerd: 'containerd', 'etcd-server': 'etcd' };

/**
 * Nothing is done where nothing is missing, nobody agrees, or this user cannot install: what is missing is refused after this.
 * Rejects with a SetupError that says what apt-get said.
 */
export async function installMissing({ server, isWished }: InstallWish, sink: ProgressSink): Promise<void> {
  const path = env['PATH'] ?? '';
  const packages = missingPackages(path, { server });
  const aptGet = findProgram('apt-get', path);
  if (packages.length === 0 || aptGet === undefined || getuid?.() !== 0) return;
  const names = packages.join(' ');
  if (!isWished && !(await isAgreed(`This machine lacks ${names}. Install them with apt-get? [Y/n] `))) return;
  const install = () => run(aptGet, ['install', '--yes', '--quiet', '--no-install-recommends', ...packages]);
  await step(
    sink,
    'packages installed',
    // A new machine may not have heard of any package yet.
    () => install().catch(() => run(aptGet, ['update', '--quiet']).then(install)),
    () => names,
  );
  if (!(await systemdRuns())) return;
  const started = packages.flatMap((name) => services[name] ?? []);
  if (started.length > 0) await run('systemctl', ['disable', '--now', ...started]);
}

/** False where nobody can be asked. */
async function isAgreed(question: string): Promise<boolean> {
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
