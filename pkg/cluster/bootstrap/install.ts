/** `orch install` and `orch uninstall`: the systemd unit that starts a cluster, or a node, with the machine. */
import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { ownProgram } from '#cluster/background/detached.js';
import { systemctl, writeUnit } from '#cluster/background/systemd.js';
import { type Layout, layoutOf } from '#cluster/config/layout.js';
import { installOptions, joinOptions, upOptions } from '#cluster/config/options.js';
import { joinedOf, readSettings } from '#cluster/config/settings.js';
import { readIdentity } from '#cluster/process/identity.js';
import { SetupError } from '#cluster/terminal/setup-error.js';
import { commandOptions } from '#cluster/terminal/subcommand.js';
import type { OptionTable, OptionValues } from '#daemon/options/option.js';
import { parseOptions } from '#daemon/options/parse.js';

type InstallOptions = OptionValues<typeof installOptions>;

/** Options after `--` are those of `orch up`, or of `orch join` on a machine that has joined. */
export async function install(argv: readonly string[]): Promise<number> {
  const end = argv.indexOf('--');
  const own = end < 0 ? argv : argv.slice(0, end);
  const more = end < 0 ? [] : argv.slice(end + 1);
  const options = parse(
    own,
    'install',
    'Start the cluster of a data directory, or the node on this machine, with the machine, by a systemd unit: orch install [flags] [-- flags of orch up, or of orch join on a machine that has joined].',
  );
  if (options === undefined) return 0;
  const layout = layoutOf(resolve(options['data-dir']));
  const hasJoined = joinedOf(readSettings(layout.settings)) !== undefined;
  const subcommand = hasJoined ? 'join' : 'up';
  const table = hasJoined ? joinOptions : upOptions;
  const parsed = parseOptions<OptionTable>(table, more, { program: 'orch install --' });
  if (parsed.kind !== 'run' || parsed.given.has('data-dir') || parsed.given.has('detach'))
    throw new SetupError(`expected flags of orch ${subcommand} after --, without --data-dir and --detach`);
  refuseRunning(layout, options);
  const file = unitFile(options);
  mkdirSync(options['unit-dir'], { recursive: true });
  writeUnit(file, layout, [...ownProgram(), subcommand, '--data-dir', layout.root, ...more]);
  process.stdout.write(`Wrote ${file}\n`);
  if (!systemdRuns()) {
    process.stdout.write('This machine does not run systemd; the unit takes effect on one that does.\n');
    return 0;
  }
  await systemctl('daemon-reload');
  await systemctl('enable', '--now', `${options.name}.service`);
  process.stdout.write(`Started. To see its log: journalctl -u ${options.name} -f\n`);
  return 0;
}

export async function uninstall(argv: readonly string[]): Promise<number> {
  const options = parse(argv, 'uninstall', 'Stop it and remove the systemd unit. Its state stays.');
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

/** Parses the options; prints the help and returns undefined for --help. */
function parse(argv: readonly string[], name: string, description: string): InstallOptions | undefined {
  const parsed = commandOptions(installOptions, argv, { program: `orch ${name}`, description });
  if (parsed === undefined) return undefined;
  if (!/^[A-Za-z0-9][\w.-]*$/.test(parsed.values.name))
    throw new SetupError(
      `--name ${JSON.stringify(parsed.values.name)} must consist of letters, digits, and . _ - after the first character`,
    );
  return parsed.values;
}

/** systemd would start a second process, which would exit at once, again and again. */
function refuseRunning(layout: Layout, { 'data-dir': dataDir }: InstallOptions): void {
  if (systemdRuns() && readIdentity(layout.process) !== undefined)
    throw new SetupError(
      `it is already running; stop it first, then systemd starts it: orch down --data-dir ${dataDir}`,
    );
}

function unitFile(options: InstallOptions): string {
  return join(resolve(options['unit-dir']), `${options.name}.service`);
}

/** The test of sd_booted(3). */
function systemdRuns(): boolean {
  return existsSync('/run/systemd/system');
}
