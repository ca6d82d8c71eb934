/**
 * Talks to logind on the system D-Bus through busctl(1) and systemd-inhibit(1), which are parts of systemd. A lock is a
 * file descriptor that logind sends, which only native code could receive: systemd-inhibit holds it as long as its
 * child waits for the end of its input, so a killed agent releases it, too.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { mkdir, rm, rmdir, stat, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import type { Dialect } from '#apimachinery/dialect.js';
import { systemdRuns } from '#nodeagent/node/prerequisites.js';
import type { InhibitLock, Logind, ShutdownWatch } from '#nodeagent/shutdown/logind.js';

export interface BusctlLogindOptions {
  readonly dialect: Dialect;
  /** Reports lines that are no signals. */
  readonly onInvalid: (line: string) => void;
  /** Default: the directory of logind's settings. */
  readonly configDirectory?: string;
  /** Default: systemd-inhibit. */
  readonly inhibitProgram?: string;
  /** Default: the system bus. Programs that hold a lock take it from the environment. */
  readonly busAddress?: string;
}

const timeLimitMs = 30_000;
const logindManager = ['org.freedesktop.login1', '/org/freedesktop/login1', 'org.freedesktop.login1.Manager'] as const;
const systemdManager = [
  'org.freedesktop.systemd1',
  '/org/freedesktop/systemd1',
  'org.freedesktop.systemd1.Manager',
] as const;
const [, logindPath, logindInterface] = logindManager;
const match = `type='signal',interface='${logindInterface}',member='PrepareForShutdown',path='${logindPath}'`;
const hangup = '1';

/** Writes a line once it holds the lock, and then waits for the end of its input. */
const held = 'held';
const holder = ['sh', '-c', `echo ${held}; exec cat`];

/** Characters of a program's output that are kept. */
const maxHeard = 1000;

export class BusctlLogind implements Logind {
  readonly #options: BusctlLogindOptions;

  constructor(options: BusctlLogindOptions) {
    this.#options = options;
  }

  async inhibitDelayMs(): Promise<number> {
    const text = await this.#busctl(['get-property', ...logindManager, 'InhibitDelayMaxUSec']);
    const micros = /^t (\d+)\s*$/.exec(text)?.[1];
    if (micros === undefined) throw new Error('InhibitDelayMaxUSec from logind is not a uint64 as expected');
    return Number(micros) / 1000;
  }

  async overrideInhibitDelay(ms: number): Promise<void> {
    const agent = this.#options.dialect.components.nodeAgent;
    const file = this.#overrideFile();
    await mkdir(dirname(file), { recursive: true, mode: 0o755 });
    const seconds = (ms / 1000).toFixed(0);
    await writeFile(file, `# ${capitalized(agent)} logind override\n[Login]\nInhibitDelayMaxSec=${seconds}\n`);
  }

  /** Takes the override back, for a machine that is no node any more. Does nothing without one. */
  async forgetInhibitDelay(): Promise<void> {
    const file = this.#overrideFile();
    if (!(await exists(file))) return;
    await rm(file, { force: true });
    await removeIfEmpty(dirname(file));
    if (await systemdRuns()) await this.reload();
  }

  #overrideFile(): string {
    const { dialect, configDirectory = '/etc/systemd/logind.conf.d' } = this.#options;
    return `${configDirectory}/99-${dialect.components.nodeAgent}.conf`;
  }

  async reload(): Promise<void> {
    await this.#busctl(['call', ...systemdManager, 'KillUnit', 'ssi', 'systemd-logind.service', 'all', hangup]);
  }

  async inhibit(): Promise<InhibitLock> {
    const agent = this.#options.dialect.components.nodeAgent;
    const why = `${capitalized(agent)} needs time to handle node shutdown`;
    const args = ['--what=shutdown', `--who=${agent}`, `--why=${why}`, '--mode=delay', ...holder];
    const child = spawn(this.#options.inhibitProgram ?? 'systemd-inhibit', args, {
      env: this.#environment(),
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    const exited = exitOf(child);
    await heard(child, { stream: 'stdout', word: held, failure: 'failed creating systemd inhibitor', exited });
    return {
      async release() {
        child.stdin?.end();
        await exited;
      },
    };
  }

  async watch(onShutdown: (isActive: boolean) => void): Promise<ShutdownWatch> {
    const args = [...this.#bus(), '--json=short', `--match=${match}`, 'monitor'];
    const child = spawn('busctl', args, { stdio: ['ignore', 'pipe', 'pipe'] });
    const exited = exitOf(child);
    createInterface({ input: child.stdout }).on('line', (line) => {
      const isActive = shutdownSignal(line);
      if (isActive === undefined) this.#options.onInvalid(line);
      else onShutdown(isActive);
    });
    // busctl tells on standard error that it has begun to listen.
    await heard(child, { stream: 'stderr', word: 'Monitoring', failure: 'failed to monitor shutdown', exited });
    return { ended: exited, close: () => void child.kill() };
  }

  #bus(): string[] {
    const { busAddress } = this.#options;
    return busAddress === undefined ? ['--system'] : [`--address=${busAddress}`];
  }

  /** systemd-inhibit has no option for the address. */
  #environment(): NodeJS.ProcessEnv {
    const { busAddress } = this.#options;
    return busAddress === undefined ? process.env : { ...process.env, DBUS_SYSTEM_BUS_ADDRESS: busAddress };
  }

  async #busctl(args: readonly string[]): Promise<string> {
    const options = { timeout: timeLimitMs, killSignal: 'SIGKILL' } as const;
    const { stdout } = await promisify(execFile)('busctl', [...this.#bus(), ...args], options);
    return stdout;
  }
}

/** Whether a shutdown begins (true) or was cancelled (false), by a line of busctl; undefined if it is no such signal. */
export function shutdownSignal(line: string): boolean | undefined {
  try {
    const message: unknown = JSON.parse(line);
    if (!isObject(message) || message['member'] !== 'PrepareForShutdown' || !isObject(message['payload']))
      return undefined;
    const { data } = message['payload'];
    return Array.isArray(data) && typeof data[0] === 'boolean' ? data[0] : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null;

/** Other settings of logind may be beside ours. */
async function removeIfEmpty(directory: string): Promise<void> {
  try {
    await rmdir(directory);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOTEMPTY') throw error;
  }
}

function exists(file: string): Promise<boolean> {
  return stat(file).then(
    () => true,
    () => false,
  );
}

const capitalized = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

/** Resolves when the program has ended or could not be started. */
function exitOf(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    child.once('close', () => resolve());
    child.once('error', () => resolve());
  });
}

/** Resolves once the stream contains the word; rejects with standard error if the program ends before. */
function heard(
  child: ChildProcess,
  {
    stream,
    word,
    failure,
    exited,
  }: { stream: 'stdout' | 'stderr'; word: string; failure: string; exited: Promise<void> },
): Promise<void> {
  const texts = { stdout: '', stderr: '' };
  return new Promise((resolve, reject) => {
    const fail = (why: string, cause?: unknown) => reject(new Error(`${failure}: ${why}`, { cause }));
    child.once('error', (error) => fail(error.message, error));
    for (const name of ['stdout', 'stderr'] as const) {
      child[name]?.on('data', (part: Buffer) => {
        if (texts[name].length < maxHeard) texts[name] += part.toString();
        if (texts[stream].includes(word)) resolve();
      });
    }
    void exited.then(() => fail(texts.stderr.trim()));
  });
}
