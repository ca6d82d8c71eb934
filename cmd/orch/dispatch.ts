/** Finds the subcommand of `orch` and turns what happens into an exit code. */
import { orchDialect } from '#apimachinery/dialect.js';
import { SetupError } from '#cmd/orch/terminal/setup-error.js';
import { OptionsError } from '#daemon/options/option.js';
import { versionText } from '#daemon/version.js';

export interface Subcommands {
  up(argv: readonly string[]): Promise<number>;
  down(argv: readonly string[]): Promise<number>;
  join(argv: readonly string[]): Promise<number>;
  leave(argv: readonly string[]): Promise<number>;
  install(argv: readonly string[]): Promise<number>;
  uninstall(argv: readonly string[]): Promise<number>;
  certificates(argv: readonly string[]): Promise<number>;
  publish(argv: readonly string[]): Promise<number>;
  backup(argv: readonly string[]): Promise<number>;
  etcd(argv: readonly string[]): Promise<number>;
  certs(argv: readonly string[]): Promise<number>;
  observe(argv: readonly string[]): Promise<number>;
  upgrade(argv: readonly string[]): Promise<number>;
  token(argv: readonly string[]): Promise<number>;
  /** The background process of a detached cluster; not for people. */
  serve(argv: readonly string[]): Promise<number>;
}

const help = `orch runs a whole cluster on one machine, and makes other machines nodes of it.

Usage:
  orch up [flags]      start a cluster, or start it again
  orch down [flags]    stop it; its state stays
  orch join SERVER     make this machine a node of a cluster, or start it again
  orch token           let a machine join as one more server
  orch leave           take it out of that cluster
  orch install         have systemd start it with the machine
  orch uninstall       have it no more; nothing is stopped for good
  orch backup          save, restore and schedule backups
  orch etcd            what fills the store, and how its members are
  orch certs           how long its certificates last
  orch observe         what Prometheus and Grafana need to watch it
  orch upgrade         have these programs take the place of those that run
  orch certificates    make or renew those of a control plane that runs in a cluster
  orch publish         let nodes join such a control plane
  orch version         what this is

More on one: orch up --help
`;

export async function dispatch(commands: Subcommands, argv: readonly string[]): Promise<number> {
  const [name, ...rest] = argv;
  try {
    if (name !== undefined && isCommand(commands, name)) return await commands[name](rest);
    switch (name) {
      case undefined:
      case 'help':
      case '--help':
      case '-h':
        process.stdout.write(help);
        return 0;
      case 'version':
      case '--version':
        process.stdout.write(`${versionText(orchDialect, false)}\n`);
        return 0;
      default:
        process.stderr.write(`orch: unknown command "${name}"\n\n${help}`);
        return 2;
    }
  } catch (error) {
    if (error instanceof OptionsError) {
      process.stderr.write(`orch ${name}: ${error.message}\n`);
      return 2;
    }
    const expected = error instanceof SetupError;
    process.stderr.write(
      `orch ${name}: ${expected || !(error instanceof Error) ? String(error) : error.stack}\n`.replace(
        'SetupError: ',
        '',
      ),
    );
    return 1;
  }
}

function isCommand(commands: Subcommands, name: string): name is keyof Subcommands {
  return Object.hasOwn(commands, name);
}
