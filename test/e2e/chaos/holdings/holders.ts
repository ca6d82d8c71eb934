/** What processes of containers hold at this moment, as the kernel knows it: devices by a variable, CPUs by their cpuset. */
import { readdir, readFile } from 'node:fs/promises';
import { realClock } from '#apimachinery/clock.js';
import { formatCPUs, parseCPUs } from '#nodeagent/allocation/cpus/cpu-set.js';
import { devicesVariable } from '#test/e2e/chaos/holdings/devices.js';

/** Variable of containers with devices or CPUs of their own: their pod's UID. */
export const holderVariable = 'CHAOS_HOLDER';
/** Variable of containers with CPUs of their own. */
export const pinnedVariable = 'CHAOS_PINNED';
const lookMs = 400;

export interface Holder {
  readonly uid: string;
  readonly devices: readonly string[];
  /** CPUs of its own. */
  readonly cpus: string;
}

/** Each container of the test's pods has one process at its root, which the list has by pod. */
export async function holders(): Promise<Map<string, Holder>> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const all = new Map<string, Holder>();
  for (const pid of pids) {
    const holder = await holderAt(pid).catch(() => undefined);
    if (holder !== undefined) all.set(holder.uid, holder);
  }
  return all;
}

/** Rejects for a process that is gone. */
async function holderAt(pid: string): Promise<Holder | undefined> {
  const environment = await readFile(`/proc/${pid}/environ`, 'utf8');
  if (!environment.includes(`${holderVariable}=`)) return undefined;
  const variables = new Map(
    environment.split('\0').map((line) => line.split(/=(.*)/s).slice(0, 2) as [string, string]),
  );
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  // The runtime moves its own process into the cpuset before it becomes the container's.
  if (/^Name:\t(runc|exe)/m.test(status) || /^State:\t[ZX]/m.test(status)) return undefined;
  const cpus = /^Cpus_allowed_list:\t(.*)$/m.exec(status)?.[1] ?? '';
  return {
    uid: variables.get(holderVariable) ?? '',
    devices: (variables.get(devicesVariable) ?? '').split(',').filter((id) => id !== ''),
    cpus: variables.has(pinnedVariable) ? formatCPUs(parseCPUs(cpus)) : '',
  };
}

/** Devices and CPUs that two pods hold at the same time. */
function conflicts(all: Iterable<Holder>): string[] {
  const owners = new Map<string, string>();
  const twice: string[] = [];
  for (const { uid, devices, cpus } of all) {
    const held = [...devices, ...[...parseCPUs(cpus)].map((cpu) => `CPU ${cpu}`)];
    for (const what of held) {
      const other = owners.get(what);
      if (other !== undefined && other !== uid) twice.push(`${what}: ${other} and ${uid}`);
      owners.set(what, uid);
    }
  }
  return twice;
}

/** Looks again and again. */
export class WatchedHolders {
  readonly conflicts = new Set<string>();
  /** Pods that have held something. */
  readonly uids = new Set<string>();
  readonly #stop = new AbortController();
  readonly #work: Promise<void>;

  constructor() {
    this.#work = this.#run();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#work;
  }

  async #run(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      const all = await holders();
      for (const uid of all.keys()) this.uids.add(uid);
      for (const conflict of conflicts(all.values())) this.conflicts.add(conflict);
      await realClock.sleep(lookMs, this.#stop.signal).catch(() => undefined);
    }
  }
}
