/** `orch install` and `orch uninstall`: whether the machine starts its cluster, or the node that it is, by itself. */
import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { ownProgram } from '#cmd/orch/background/detached.js';
import { systemctl } from '#cmd/orch/background/systemctl.js';
import { writeUnit } from '#cmd/orch/background/write-unit.js';
import { type Layout, layoutOf } from '#cmd/orch/context/layout.js';
import { joinedOf, readSettings } from '#cmd/orch/context/settings.js';
import { installOptions, joinOptions, upOptions } from '#cmd/orch/options.js';
import { readIdentity } from '#cmd/orch/process/identity.js';
import { SetupError } from '#cmd/orch/terminal/setup-error.js';
import { helpText } from '#daemon/options/help.js';
import type { OptionTable, OptionValues } from '#daemon/options/option.js';
import { parseOptions } from '#daemon/options/parse.js';

type InstallOptions = OptionValues<typeof installOptions>;

/** What follows `--` are options of `orch up`, or of `orch join` on a machine that has joined. */
export async function install(argv: readonly string[]): Promise<number> {
  const end = argv.indexOf('--');
  const own = end < 0 ? argv : argv.slice(0, end);
  const more = end < 0 ? [] : argv.slice(end + 1);
  const options = optionsOf(
    own,
    'install',
    'Have systemd start the cluster of a data directory, or the node that this machine is, with the machine: orch install [flags] [-- flags of orch up, or of orch join on a machine that has joined].',
  );
  if (options === undefined) return 0;
  const layout = layoutOf(resolve(options['data-dir']));
  const hasJoined = joinedOf(readSettings(layout.settings)) !== undefined;
  const subcommand = hasJoined ? 'join' : 'up';
  const table = hasJoined ? joinOptions : upOptions;
  const parsed = parseOptions<OptionTable>(table, more, { program: 'orch install --' });
  if (parsed.kind !== 'run' || parsed.given.has('data-dir') || parsed.given.has('detach'))
    throw new SetupError(`after -- come flags of orch ${subcommand}, without --data-dir and --detach`);
  refuseRunning(layout, options);
  const file = unitFile(options);
  mkdirSync(options['unit-dir'], { recursive: true });
  writeUnit(file, layout, [...ownProgram(), subcommand, '--data-dir', layout.root, ...more]);
  process.stdout.write(`Wrote ${file}\n`);
  if (!systemdRuns()) {
    process.stdout.write('This machine is not run by systemd; the unit is for one that is.\n');
    return 0;
  }
  await systemctl('daemon-reload');
  await systemctl('enable', '--now', `${options.name}.service`);
  process.stdout.write(`Started. See how it goes: journalctl -u ${options.name} -f\n`);
  return 0;
}

export async function uninstall(argv: readonly string[]): Promise<number> {
  const options = optionsOf(argv, 'uninstall', 'Have systemd start it no more. It is stopped; its state stays.');
  if (options === undefined) return 0;
  const file = unitFile(options);
  if (!existsSync(file)) {
    process.stdout.write(`There is no unit ${file}.\n`);
    return 0;
  }
  if (systemdRuns()) await systemctl('disable', '--now', `${options.name}.service`);
  rmSync(file, { force: true });
  if (systemdRuns()) await systemctl('daemon-reload');
  process.stdout.write(`Removed ${file}\n`);
  return 0;
}

/** Undefined when the help was asked for. */
function optionsOf(argv: readonly string[], name: string, description: string): InstallOptions | undefined {
  const parsed = parseOptions(installOptions, argv, { program: `orch ${name}` });
  if (parsed.kind !== 'run') {
    process.stdout.write(helpText(installOptions, { program: `orch ${name}`, description }));
    return undefined;
  }
  if (!/^[A-Za-z0-9][\w.-]*$/.test(parsed.values.name))
    throw new SetupError(
      `--name ${JSON.stringify(parsed.values.name)} must be letters, digits, and . _ - between them`,
    );
  return parsed.values;
}

/** systemd would start a second one, which would end at once, again and again. */
function refuseRunning(layout: Layout, { 'data-dir': dataDir }: InstallOptions): void {
  if (systemdRuns() && readIdentity(layout.process) !== undefined)
    throw new SetupError(`it runs already; stop it first, and systemd starts it: orch down --data-dir ${dataDir}`);
}

function unitFile(options: InstallOptions): string {
  return join(resolve(options['unit-dir']), `${options.name}.service`);
}

/** As sd_booted(3) finds out. */
function systemdRuns(): boolean {
  return existsSync('/run/systemd/system');
}
