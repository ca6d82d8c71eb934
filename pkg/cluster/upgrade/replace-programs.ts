/** Ends the programs that run and starts these in their place, while containers run on. */
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
import type { HowItRuns } from '#cluster/upgrade/running-program.js';

/** The parts of a cluster end one after the other; what is killed after this is found by those that come. */
const graceMs = 60_000;
const programGraceMs = 10_000;
/** systemd waits two seconds, and the programs need some more; ms. */
const unitLimitMs = 60_000;
const pollMs = 50;

export interface ExchangeOptions {
  readonly layout: Layout;
  readonly identity: ProcessIdentity;
  readonly how: HowItRuns;
  readonly clock: Clock;
  readonly sink: ProgressSink;
  /** Starts what was started in a terminal; in the background from now on. */
  readonly startAgain: (subcommand: string, args: readonly string[]) => Promise<void>;
  /** Waits for the nodes of this machine, where who starts the programs does not. */
  readonly untilReady: () => Promise<void>;
}

/**
 * Resolves when these programs run the cluster. When they do not start, those of before are started again, and it rejects
 * with a SetupError.
 */
export async function exchangePrograms(options: ExchangeOptions): Promise<void> {
  const { how, sink } = options;
  if (how.unit !== undefined) return exchangeUnit(how.unit, options);
  await step(sink, 'programs ended, pods left running', () => endPrograms(options));
  try {
    await startThese(options);
  } catch (error) {
    await step(sink, 'programs of before started again', () => startFormer(options)).catch((again: unknown) => {
      throw new SetupError(`${messageOf(error)}\nnor do those of before start: ${messageOf(again)}`);
    });
    throw new SetupError(`${messageOf(error)}\nThe programs of before run again.`);
  }
}

async function startThese({ how, layout, sink, startAgain }: ExchangeOptions): Promise<void> {
  if (how.subcommand === 'serve') await startInBackground(startOf(how), layout, sink);
  else await startAgain(how.subcommand, how.args);
}

async function startFormer({ how, layout, sink }: ExchangeOptions): Promise<void> {
  if (how.subcommand !== 'serve')
    throw new Error(
      `they were started in a terminal; again: ${[...how.program, how.subcommand, ...how.args].join(' ')}`,
    );
  await startInBackground(startOf(how), layout, sink, how.program);
}

function startOf({ args: [json = ''] }: HowItRuns): StartOptions {
  return { ...(JSON.parse(json) as StartOptions), takesOver: true };
}

async function endPrograms({ clock, identity, layout }: ExchangeOptions): Promise<void> {
  await stopProcess(identity, clock, graceMs, undefined, leavingSignal);
  // Of a process that had to be killed.
  for (const left of (await runningProcesses(layout.run)).values()) await stopProcess(left, clock, programGraceMs);
}

/** systemd starts what its unit says as soon as the process has ended. */
async function exchangeUnit(unit: string, options: ExchangeOptions): Promise<void> {
  const { clock, how, identity, layout, sink, untilReady } = options;
  const file = join(unitsDir, unit);
  if (!existsSync(file))
    throw new SetupError(`systemd runs it as ${unit}, of which there is no ${file}: write it with orch install`);
  writeUnit(file, layout, [...ownProgram(), how.subcommand, ...how.args]);
  await systemctl('daemon-reload');
  await step(sink, `${unit} restarted, pods left running`, async () => {
    await systemctl('kill', '--kill-who=main', `--signal=${leavingSignal}`, unit);
    const deadline = clock.monotonic() + unitLimitMs;
    for (;;) {
      const now = readIdentity(layout.process);
      if (now !== undefined && now.pid !== identity.pid) return;
      if (clock.monotonic() > deadline) throw new SetupError(`systemd does not start it again: journalctl -u ${unit}`);
      await clock.sleep(pollMs);
    }
  });
  await step(sink, 'nodes Ready', untilReady);
}
