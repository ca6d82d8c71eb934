/** Compares the agent's checkpoints with what containers hold. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readCPUCheckpoint } from '#nodeagent/allocation/cpus/cpu-checkpoint.js';
import { formatCPUs } from '#nodeagent/allocation/cpus/cpu-set.js';
import { decodeCheckpoint } from '#nodeagent/devices/checkpoint.js';
import type { Holder } from '#test/e2e/chaos/holdings/holders.js';

/** Differences in both directions; empty when the files are true. Rejects for an unreadable file. */
export async function falseCheckpoints(root: string, holders: ReadonlyMap<string, Holder>): Promise<string[]> {
  const [devices, cpus] = [await devicesOf(root), await cpusOf(root)];
  const problems: string[] = [];
  for (const [what, file, held] of [
    ['devices', devices, byPod(holders, (holder) => [...holder.devices].sort().join())],
    ['CPUs', cpus, byPod(holders, (holder) => holder.cpus)],
  ] as const)
    for (const uid of new Set([...file.keys(), ...held.keys()]))
      if (file.get(uid) !== held.get(uid))
        problems.push(`${what} of ${uid}: the file has ${file.get(uid)}, the container ${held.get(uid)}`);
  return problems;
}

function byPod(holders: ReadonlyMap<string, Holder>, textOf: (holder: Holder) => string): Map<string, string> {
  return new Map([...holders].map(([uid, holder]) => [uid, textOf(holder)] as const).filter(([, text]) => text !== ''));
}

async function devicesOf(root: string): Promise<Map<string, string>> {
  const text = await readFile(join(root, 'device-plugins', 'kubelet_internal_checkpoint'), 'utf8');
  const { assignments } = decodeCheckpoint(text);
  return new Map(assignments.map(({ podUID, devices }) => [podUID, [...devices.values()].flat().sort().join()]));
}

async function cpusOf(root: string): Promise<Map<string, string>> {
  const text = await readFile(join(root, 'cpu_manager_state'), 'utf8');
  const { assignments } = await readCPUCheckpoint(text, 'static', async () => new Map());
  return new Map(
    [...assignments].map(([uid, containers]) => [uid, formatCPUs([...containers.values()][0] ?? new Set())]),
  );
}
