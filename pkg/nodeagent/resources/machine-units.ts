/** The systemd of this machine, for cgroups that it is to manage. */
import { findProgram, systemdRuns } from '#nodeagent/node/prerequisites.js';
import type { CgroupVersion } from '#nodeagent/resources/cgroup-settings.js';
import { busctlRunner, SystemdUnits, type Units } from '#nodeagent/resources/systemd-units.js';

/** Throws an error with the reason where this machine has no systemd, or no program to reach it. */
export async function machineUnits(version: CgroupVersion): Promise<Units> {
  if (!(await systemdRuns())) throw new Error('systemd does not run on this machine');
  const busctl = await findProgram('busctl');
  if (busctl === undefined) throw new Error('busctl is not installed');
  return new SystemdUnits(busctlRunner(busctl), version);
}
