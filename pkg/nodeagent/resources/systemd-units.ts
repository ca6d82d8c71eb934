/**
 * Manages slices through systemd's manager on the system D-Bus, with release 1.24's properties. Uses busctl(1), which
 * is part of systemd.
 */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { messageOf } from '#apimachinery/errors/message.js';
import type { CgroupLimits, CgroupVersion } from '#nodeagent/resources/cgroup-settings.js';
import { weightOfShares } from '#nodeagent/resources/cgroup-settings.js';

/** Creates, changes and stops the slices of cgroups. Rejects with systemd's error. */
export interface Units {
  /** Does nothing if the slice exists. */
  start(slice: string, parent: string): Promise<void>;
  set(slice: string, limits: CgroupLimits): Promise<void>;
  /** Does nothing if the slice does not exist. */
  stop(slice: string): Promise<void>;
}

/** A property with its D-Bus signature and value, in busctl's format. */
export type UnitProperty = readonly [name: string, signature: string, ...value: string[]];

/** Runs busctl; rejects with an error that contains its standard error. */
export type RunBusctl = (args: readonly string[]) => Promise<void>;

/** systemd normally answers at once. */
const timeLimitMs = 30_000;

/** `busctl`: path of the program. */
export function busctlRunner(busctl: string): RunBusctl {
  const run = promisify(execFile);
  return async (args) => {
    await run(busctl, [...args], { timeout: timeLimitMs, killSignal: 'SIGKILL' });
  };
}

const manager = ['org.freedesktop.systemd1', '/org/freedesktop/systemd1', 'org.freedesktop.systemd1.Manager'];
const alreadyExists = /already (exists|loaded)|fragment file/;
const notFound = /not loaded|not found/;
/** systemd's value for no limit. */
const infinity = String(2n ** 64n - 1n);

export class SystemdUnits implements Units {
  readonly #run: RunBusctl;
  readonly #version: CgroupVersion;

  constructor(run: RunBusctl, version: CgroupVersion) {
    this.#run = run;
    this.#version = version;
  }

  async start(slice: string, parent: string): Promise<void> {
    const args = [slice, 'replace', ...listOf(sliceProperties(slice, parent, this.#version)), '0'];
    await this.#call(['StartTransientUnit', 'ssa(sv)a(sa(sv))', ...args], alreadyExists);
  }

  async set(slice: string, limits: CgroupLimits): Promise<void> {
    const properties = limitProperties(limits, this.#version);
    if (properties.length === 0) return;
    await this.#call(['SetUnitProperties', 'sba(sv)', slice, 'true', ...listOf(properties)], undefined);
  }

  async stop(slice: string): Promise<void> {
    await this.#call(['StopUnit', 'ss', slice, 'replace'], notFound);
  }

  /** `harmless`: matches errors to ignore. */
  async #call(call: readonly string[], harmless: RegExp | undefined): Promise<void> {
    try {
      // The name of the root slice, `-.slice`, would be an option.
      await this.#run(['--system', '--quiet', '--', 'call', ...manager, ...call]);
    } catch (error) {
      const message = String((error as { stderr?: unknown }).stderr ?? '').trim() || messageOf(error);
      if (harmless?.test(message) !== true) throw new Error(`systemd: ${call[0]}: ${message}`, { cause: error });
    }
  }
}

function listOf(properties: readonly UnitProperty[]): string[] {
  return [String(properties.length), ...properties.flat()];
}

/** Properties of a new slice; accounting is on from the start. */
function sliceProperties(slice: string, parent: string, version: CgroupVersion): UnitProperty[] {
  const on = (name: string): UnitProperty => [name, 'b', 'true'];
  return [
    ['Description', 's', `libcontainer container ${slice}`],
    ['Wants', 'as', '1', parent],
    on('MemoryAccounting'),
    on('CPUAccounting'),
    on(version === 2 ? 'IOAccounting' : 'BlockIOAccounting'),
    on('TasksAccounting'),
    ['DefaultDependencies', 'b', 'false'],
  ];
}

/** systemd does not manage huge pages. */
export function limitProperties(limits: CgroupLimits, version: CgroupVersion): UnitProperty[] {
  const { cpuShares, cpuQuota, memoryBytes, memoryMinBytes, pids } = limits;
  const number = (name: string, value: number | string): UnitProperty => [name, 't', String(value)];
  const unified = version === 2;
  return [
    ...(memoryBytes === undefined ? [] : [number(unified ? 'MemoryMax' : 'MemoryLimit', memoryBytes)]),
    ...(memoryMinBytes === undefined || !unified ? [] : [number('MemoryMin', memoryMinBytes)]),
    ...(cpuShares === undefined
      ? []
      : [unified ? number('CPUWeight', weightOfShares(cpuShares)) : number('CPUShares', cpuShares)]),
    ...(cpuQuota === undefined
      ? []
      : [
          number('CPUQuotaPeriodUSec', cpuQuota.periodMicros),
          number('CPUQuotaPerSecUSec', cpuQuota.quotaMicros > 0 ? microsPerSecond(cpuQuota) : infinity),
        ]),
    ...(pids === undefined ? [] : [number('TasksMax', pids)]),
  ];
}

/** Rounded up to whole percents of a CPU, systemd's unit, so that children never get less. */
function microsPerSecond({ quotaMicros, periodMicros }: { quotaMicros: number; periodMicros: number }): number {
  return Math.ceil(Math.floor((quotaMicros * 1e6) / periodMicros) / 10_000) * 10_000;
}
