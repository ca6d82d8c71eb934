/**
 * Slices through systemd's manager on the system's D-Bus, with the properties that release 1.24 gives them. busctl(1), a part
 * of systemd, speaks the protocol.
 */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { messageOf } from '#apimachinery/errors/message.js';
import type { CgroupLimits, CgroupVersion } from '#nodeagent/resources/cgroup-settings.js';
import { weightOfShares } from '#nodeagent/resources/cgroup-settings.js';

/** Makes, changes and ends the slices that cgroups are. Each rejects with what systemd says against it. */
export interface Units {
  /** Nothing when it is there. */
  start(slice: string, parent: string): Promise<void>;
  set(slice: string, limits: CgroupLimits): Promise<void>;
  /** Nothing when it is gone. */
  stop(slice: string): Promise<void>;
}

/** A property with its D-Bus signature and value, as busctl takes them. */
export type UnitProperty = readonly [name: string, signature: string, ...value: string[]];

/** Runs busctl with these arguments; rejects with an error that holds what it wrote to standard error. */
export type RunBusctl = (args: readonly string[]) => Promise<void>;

/** systemd answers at once, or is not well. */
const timeLimitMs = 30_000;

/** @param busctl Path of the program. */
export function busctlRunner(busctl: string): RunBusctl {
  const run = promisify(execFile);
  return async (args) => {
    await run(busctl, [...args], { timeout: timeLimitMs, killSignal: 'SIGKILL' });
  };
}

const manager = ['org.freedesktop.systemd1', '/org/freedesktop/systemd1', 'org.freedesktop.systemd1.Manager'];
const isThere = /already (exists|loaded)|fragment file/;
const isGone = /not loaded|not found/;
/** Of systemd: no limit. */
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
    await this.#call(['StartTransientUnit', 'ssa(sv)a(sa(sv))', ...args], isThere);
  }

  async set(slice: string, limits: CgroupLimits): Promise<void> {
    const properties = limitProperties(limits, this.#version);
    if (properties.length === 0) return;
    await this.#call(['SetUnitProperties', 'sba(sv)', slice, 'true', ...listOf(properties)], undefined);
  }

  async stop(slice: string): Promise<void> {
    await this.#call(['StopUnit', 'ss', slice, 'replace'], isGone);
  }

  /** @param harmless What systemd may say against it. */
  async #call(call: readonly string[], harmless: RegExp | undefined): Promise<void> {
    try {
      await this.#run(['--system', '--quiet', 'call', ...manager, ...call]);
    } catch (error) {
      const said = String((error as { stderr?: unknown }).stderr ?? '').trim() || messageOf(error);
      if (harmless?.test(said) !== true) throw new Error(`systemd: ${call[0]}: ${said}`, { cause: error });
    }
  }
}

function listOf(properties: readonly UnitProperty[]): string[] {
  return [String(properties.length), ...properties.flat()];
}

/** Of a new slice. All is counted in it from the start. */
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

/** Huge pages are none of systemd's business. */
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

/** In whole percents of a CPU, as systemd counts, and never less than what is below may use. */
function microsPerSecond({ quotaMicros, periodMicros }: { quotaMicros: number; periodMicros: number }): number {
  return Math.ceil(Math.floor((quotaMicros * 1e6) / periodMicros) / 10_000) * 10_000;
}
