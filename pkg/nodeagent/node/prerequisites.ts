/** Checks what a machine provides for a node agent and a container runtime. */

import { access, constants, readFile, stat } from 'node:fs/promises';
import { messageOf } from '#apimachinery/errors/message.js';

/** Bits of the effective capability set in `/proc/self/status`. */
const capSysResource = 24n;

export interface RuntimePrerequisites {
  readonly root: boolean;
  /** Missing programs and plugins. */
  readonly missing: readonly string[];
}

async function firstExecutable(paths: readonly string[]): Promise<string | undefined> {
  for (const path of paths) {
    try {
      await access(path, constants.X_OK);
      return path;
    } catch {
      // Try the next path.
    }
  }
  return undefined;
}

const binDirs = ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin'];

/** Absolute path of a program in the standard directories; undefined if it is not installed. */
export function findProgram(name: string): Promise<string | undefined> {
  return firstExecutable(binDirs.map((dir) => `${dir}/${name}`));
}

const cniDirs = ['/usr/lib/cni', '/opt/cni/bin', '/usr/libexec/cni'];

/** The directory of the CNI plugins; undefined if there is none. */
export async function findCNIPlugins(): Promise<string | undefined> {
  const bridge = await firstExecutable(cniDirs.map((dir) => `${dir}/bridge`));
  return bridge?.slice(0, -'/bridge'.length);
}

/** What this machine lacks to run real containers. */
export async function runtimePrerequisites(): Promise<RuntimePrerequisites> {
  const missing: string[] = [];
  for (const program of ['containerd', 'runc', 'iptables', 'ip']) {
    if ((await findProgram(program)) === undefined) missing.push(program);
  }
  if ((await findCNIPlugins()) === undefined) missing.push('CNI plugins');
  return { root: process.getuid?.() === 0, missing };
}

/** True without CAP_SYS_RESOURCE: no process may lower its oom_score_adj, and runc fails if it has to. */
export async function oomScoreAdjRestricted(): Promise<boolean> {
  const status = await readFile('/proc/self/status', 'utf8');
  const effective = /^CapEff:\s*([0-9a-f]+)$/m.exec(status)?.[1] ?? '0';
  return ((BigInt(`0x${effective}`) >> capSysResource) & 1n) === 0n;
}

/** True if systemd is process 1. */
export async function systemdRuns(): Promise<boolean> {
  return stat('/run/systemd/system').then(
    (stats) => stats.isDirectory(),
    () => false,
  );
}

/** 2 if only the unified hierarchy is mounted, else 1. */
export async function cgroupVersion(): Promise<1 | 2> {
  try {
    await stat('/sys/fs/cgroup/cgroup.controllers');
    return 2;
  } catch {
    return 1;
  }
}

/** The error of `--fail-swap-on`, if the machine has swap. `list`: the text of `/proc/swaps`. */
export function swapRefusal(list: string): string | undefined {
  // The first line is the heading. Systems without that file have no swap.
  if (list.trim().split('\n').length <= 1) return undefined;
  return (
    'running with swap on is not supported: turn it off, or set --fail-swap-on=false. ' +
    `/proc/swaps contained:\n${list.trim()}`
  );
}

/** Kernel settings that release 1.24's node agent requires: path below `/proc/sys/` → value. */
export const expectedKernelSettings: Readonly<Record<string, string>> = {
  'vm/overcommit_memory': '1',
  'vm/panic_on_oom': '0',
  'kernel/panic': '10',
  'kernel/panic_on_oops': '1',
  'kernel/keys/root_maxkeys': '1000000',
  'kernel/keys/root_maxbytes': '25000000',
};

/** One message for each setting with another value. `read` gives a setting's text, or rejects if there is none. */
export async function kernelSettingErrors(read: (name: string) => Promise<string>): Promise<string[]> {
  const errors = await Promise.all(
    Object.entries(expectedKernelSettings).map(async ([name, expected]) => {
      const actual = await read(name).then(
        (text) => text.trim(),
        (error: unknown) => messageOf(error),
      );
      const message = `invalid kernel flag: ${name}, expected value: ${expected}, actual value: ${actual}`;
      return actual === expected ? [] : [message];
    }),
  );
  return errors.flat();
}
