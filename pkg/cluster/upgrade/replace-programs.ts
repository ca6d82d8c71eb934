/** Stops the running programs and starts these instead, while containers keep running. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '#apimachinery/clock.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { ownProgram, startInBackground } from '#cluster/background/detached.js';
import { systemctl, writeUnit } from '#cluster/background/systemd.js';
import type { Layout } from '#cluster/config/layout.js';
import { unitsDir } from '#cluster/config/options.js';
import type { StartOptions } from '#cluster/config/start-options.js';
import {
  leavingSignal,
  type ProcessIdentity,
  readIdentity,
  runningProcesses,
  stopProcess,
} from '#cluster/process/identity.js';
import { type ProgressSink, step } from '#cluster/terminal/progress.js';
import { SetupError } from '#cluster/terminal/setup-error.js';
import type { RunningProgram } from '#cluster/upgrade/running-program.js';

/** Time for the cluster's process to stop its parts one by one. Then the process is killed. */
const graceMs = 60_000;
const programGraceMs = 10_000;
/** Time limit of a restart by systemd, which waits two seconds; ms. */
const unitLimitMs = 60_000;
const pollMs = 50;

export interface ReplaceOptions {
  readonly layout: Layout;
  readonly identity: ProcessIdentity;
  readonly program: RunningProgram;
  readonly clock: Clock;
  readonly sink: ProgressSink;
  /** Restarts, in the background, programs that were started in a terminal. */
  readonly startAgain: (subcommand: string, args: readonly string[]) => Promise<void>;
  /** Waits for the nodes of this machine, after a restart by systemd. */
  readonly untilReady: () => Promise<void>;
}

/**
 * Resolves when these programs run the cluster. When they fail to start, restarts the former programs and rejects with a
 * SetupError.
 */
export async function replacePrograms(options: ReplaceOptions): Promise<void> {
  const { program, sink } = options;
  if (program.unit !== undefined) return replaceUnit(program.unit, options);
  await step(sink, 'programs stopped, pods left running', () => stopPrograms(options));
  try {
    await startThese(options);
  } catch (error) {
    await step(sink, 'former programs restarted', () => startFormer(options)).catch((again: unknown) => {
      throw new SetupError(`${messageOf(error)}\nThe former programs do not start either: ${messageOf(again)}`);
    });
    throw new SetupError(`${messageOf(error)}\nThe former programs are running again.`);
  }
}

async function startThese({ program, layout, sink, startAgain }: ReplaceOptions): Promise<void> {
  if (program.subcommand === 'serve') await startInBackground(startOf(program), layout, sink);
  else await startAgain(program.subcommand, program.args);
}

async function startFormer({ program, layout, sink }: ReplaceOptions): Promise<void> {
  const { command, subcommand, args } = program;
  if (subcommand !== 'serve')
    throw new Error(`they were started in a terminal; run again: ${[...command, subcommand, ...args].join(' ')}`);
  await startInBackground(startOf(program), layout, sink, command);
}

function startOf({ args: [json = ''] }: RunningProgram): StartOptions {
  return { ...(JSON.parse(json) as StartOptions), takesOver: true };
}

async function stopPrograms({ clock, identity, layout }: ReplaceOptions): Promise<void> {
  await stopProcess(identity, clock, graceMs, undefined, leavingSignal);
  // Programs that a killed process has left.
  for (const left of (await runningProcesses(layout.run)).values()) await stopProcess(left, clock, programGraceMs);
}

/** Rewrites the unit and stops the process; systemd restarts it with the new programs. */
async function replaceUnit(unit: string, options: ReplaceOptions): Promise<void> {
  const { clock, program, identity, layout, sink, untilReady } = options;
  const file = join(unitsDir, unit);
  if (!existsSync(file))
    throw new SetupError(`systemd runs it as ${unit}, but there is no file ${file}; write it with orch install`);
  writeUnit(file, layout, [...ownProgram(), program.subcommand, ...program.args]);
  await systemctl('daemon-reload');
  await step(sink, `${unit} restarted, pods left running`, async () => {
    await systemctl('kill', '--kill-who=main', `--signal=${leavingSignal}`, unit);
    const deadline = clock.monotonic() + unitLimitMs;
    for (;;) {
      const now = readIdentity(layout.process);
      if (now !== undefined && now.pid !== identity.pid) return;
      if (clock.monotonic() > deadline) throw new SetupError(`systemd did not restart it; see: journalctl -u ${unit}`);
      await clock.sleep(pollMs);
    }
  });
  await step(sink, 'nodes Ready', untilReady);
}
