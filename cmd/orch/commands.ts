/** The commands of `orch`. Each module is loaded when its command runs. */
import { orchDialect } from '#apimachinery/dialect.js';
import { SetupError } from '#cluster/terminal/setup-error.js';
import { nearNames } from '#daemon/options/near-names.js';
import { OptionsError } from '#daemon/options/option.js';
import { keepCompiled } from '#daemon/process/compile-cache.js';
import type { GuardedProcess } from '#daemon/process/guarded-process.js';
import { versionText } from '#daemon/version.js';

export interface Command {
  /** Line of the help: the command with its arguments, and its summary. Absent: an internal command. */
  readonly usage?: readonly [synopsis: string, summary: string];
  /** Resolves with the exit code. */
  run(argv: readonly string[]): Promise<number>;
}

export type Commands = Readonly<Record<string, Command>>;

export function commandsOf(guarded: GuardedProcess): Commands {
  const up = async (argv: readonly string[]) => {
    const examples = async () => (await import('#cmd/orch/example.js')).runExample;
    return (await import('#cluster/bootstrap/up.js')).up(argv, { guarded, examples });
  };
  const join = async (argv: readonly string[]) => (await import('#cluster/join/join.js')).join(argv, guarded);
  return {
    up: { usage: ['up [flags]', 'start a cluster, or start it again'], run: up },
    down: {
      usage: ['down [flags]', 'stop it; its state stays'],
      run: async (argv) => (await import('#cluster/bootstrap/down.js')).down(argv),
    },
    test: {
      usage: ['test -- COMMAND', 'run a command with a cluster for tests'],
      run: async (argv) => {
        // Many tests start one after the other.
        keepCompiled(process.argv[1] ?? '');
        return (await import('#testcluster/command/command.js')).test(argv);
      },
    },
    join: { usage: ['join SERVER', 'make this machine a node of a cluster, or start it again'], run: join },
    token: {
      usage: ['token', 'let a machine join as one more server'],
      run: async (argv) => (await import('#cluster/members/command.js')).token(argv),
    },
    leave: {
      usage: ['leave', 'remove this machine from its cluster'],
      run: async (argv) => (await import('#cluster/join/leave.js')).leave(argv),
    },
    install: {
      usage: ['install', 'start it with the machine, by a systemd unit'],
      run: async (argv) => (await import('#cluster/bootstrap/install.js')).install(argv),
    },
    uninstall: {
      usage: ['uninstall', 'stop it and remove the systemd unit; its state stays'],
      run: async (argv) => (await import('#cluster/bootstrap/install.js')).uninstall(argv),
    },
    backup: {
      usage: ['backup', 'save, restore and schedule backups'],
      run: async (argv) => (await import('#cluster/backup/command.js')).backup(argv),
    },
    etcd: {
      usage: ['etcd', 'show what fills the store, and the state of its members'],
      run: async (argv) => (await import('#cluster/etcd/command.js')).etcd(argv),
    },
    certs: {
      usage: ['certs', 'show when its certificates end, or renew them'],
      run: async (argv) => (await import('#cluster/pki/command.js')).certs(argv),
    },
    check: {
      usage: ['check cis', 'judge its safety by the CIS benchmark'],
      run: async (argv) => (await import('#cluster/check/command.js')).check(argv),
    },
    observe: {
      usage: ['observe', 'write configuration for Prometheus and Grafana'],
      run: async (argv) => (await import('#cluster/observe/command.js')).observe(argv),
    },
    upgrade: {
      usage: ['upgrade', 'replace the running programs by these'],
      run: async (argv) => {
        const startAgain = async (subcommand: string, args: readonly string[]) => {
          await (subcommand === 'join' ? join : up)([...args, '--detach']);
        };
        return (await import('#cluster/upgrade/command.js')).upgrade(argv, { startAgain });
      },
    },
    certificates: {
      usage: ['certificates', 'create or renew those of a control plane that runs in a cluster'],
      run: async (argv) => (await import('#cluster/hosted/certificates.js')).certificates(argv),
    },
    publish: {
      usage: ['publish', 'let nodes join such a control plane'],
      run: async (argv) => (await import('#cluster/hosted/publish.js')).publish(argv),
    },
    'hosted-etcd': {
      usage: ['hosted-etcd', 'manage the members of its etcd'],
      run: async (argv) => (await import('#cluster/hosted/etcd/command.js')).hostedEtcd(argv),
    },
    // The background process of `--detach`.
    serve: { run: async (argv) => (await import('#cluster/supervise/serve.js')).serve(argv, guarded) },
  };
}

/** Runs the command that the arguments name. Resolves with the exit code. */
export async function dispatch(commands: Commands, argv: readonly string[]): Promise<number> {
  const [name = 'help', ...rest] = argv;
  if (['help', '--help', '-h'].includes(name)) {
    process.stdout.write(helpOf(commands));
    return 0;
  }
  if (name === 'version' || name === '--version') {
    process.stdout.write(`${versionText(orchDialect, false)}\n`);
    return 0;
  }
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (command === undefined) {
    const shown = Object.keys(commands).filter((each) => commands[each]?.usage !== undefined);
    const near = nearNames(name, shown);
    const hint = near.length === 0 ? '' : `, did you mean ${near.join(' or ')}?`;
    process.stderr.write(`orch: unknown command "${name}"${hint}\n\n${helpOf(commands)}`);
    return 2;
  }
  try {
    return await command.run(rest);
  } catch (error) {
    process.stderr.write(`orch ${name}: ${failureText(error)}\n`);
    return error instanceof OptionsError ? 2 : 1;
  }
}

/** Unexpected errors show their stack. */
function failureText(error: unknown): string {
  if (error instanceof OptionsError || error instanceof SetupError) return error.message;
  return error instanceof Error ? (error.stack ?? String(error)) : String(error);
}

function helpOf(commands: Commands): string {
  const usages = Object.values(commands).flatMap(({ usage }) => (usage === undefined ? [] : [usage]));
  const lines = [...usages, ['version', 'show the version'] as const].map(
    ([synopsis, summary]) => `  orch ${synopsis.padEnd(16)}${summary}\n`,
  );
  return `orch runs a whole cluster on one machine, and makes other machines nodes of it.

Usage:
${lines.join('')}
Help of a command: orch up --help
`;
}
