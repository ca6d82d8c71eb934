/** Kills, stops and resumes the programs of a cluster. */
import { realClock } from '#apimachinery/clock.js';
import { dialectByName } from '#apimachinery/dialect.js';
import type { ProcessIdentity } from '#cluster/process/identity.js';
import { eventually } from '#test/e2e/harness.js';
import { findContainerd, findProgram } from '#test/e2e/kill.js';

const { components } = dialectByName('orch');
const programs = [components.nodeAgent, components.apiServer, 'containerd'] as const;
type Program = (typeof programs)[number];

/** Maximum time that a program is stopped; ms. */
const maxStopMs = 6000;

async function find(dataDir: string, program: Program): Promise<ProcessIdentity | undefined> {
  return program === 'containerd' ? findContainerd(dataDir) : findProgram(dataDir, program);
}

/** Sends one of the programs a random signal; returns what it did. Resolves when a stopped program is resumed. */
export async function strike(dataDir: string, random: () => number): Promise<string> {
  const program = programs[Math.floor(random() * programs.length)] as Program;
  const stops = random() < 0.4;
  const stopMs = Math.ceil(random() * maxStopMs);
  const identity = await find(dataDir, program);
  // It was killed a moment ago.
  if (identity === undefined || !signalled(identity.pid, stops ? 'SIGSTOP' : 'SIGKILL'))
    return `${program} is not there`;
  if (!stops) return `${program} killed`;
  await realClock.sleep(stopMs);
  signalled(identity.pid, 'SIGCONT');
  return `${program} stopped for ${stopMs} ms`;
}

/** Resolves when all programs run. */
export async function untilAllRun(dataDir: string): Promise<void> {
  for (const program of programs) {
    await eventually(`${program} runs`, async () => (await find(dataDir, program)) !== undefined);
  }
}

/** False if the process does not exist. */
function signalled(pid: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
    throw error;
  }
}
