/** The systemd unit that starts a cluster, or a node of one, with the machine. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { messageOf } from '#apimachinery/errors/message.js';
import type { Layout } from '#cluster/config/layout.js';
import { joinedOf, readSettings } from '#cluster/config/settings.js';
import { replaceFile } from '#cluster/process/replace-file.js';
import { SetupError } from '#cluster/terminal/setup-error.js';

export interface ServiceUnit {
  readonly description: string;
  /** Program and arguments. */
  readonly command: readonly string[];
  /** PATH of the process. */
  readonly path: string;
  /** Folder of a library that its Node.js needs; absent: the machine has it. */
  readonly libraryPath?: string | undefined;
}

/** Text of the unit file. Pure. */
export function serviceUnit({ command, description, path, libraryPath }: ServiceUnit): string {
  const environment = [`PATH=${path}`, ...(libraryPath ? [`LD_LIBRARY_PATH=${libraryPath}`] : [])];
  return `[Unit]
Description=${description}
Wants=network-online.target
After=network-online.target
# Restart without limit: the machine may not be ready, at boot for example.
StartLimitIntervalSec=0

[Service]
Type=exec
ExecStart=${command.map(quoted).join(' ')}
${environment.map((variable) => `Environment=${quoted(variable)}`).join('\n')}
Restart=always
RestartSec=2
# The process stops its containers itself; after a crash they keep running for the next start.
KillMode=process
TimeoutStopSec=90
# Pods need their own cgroups, and any number of processes and files.
Delegate=yes
TasksMax=infinity
LimitNOFILE=1048576
OOMScoreAdjust=-999

[Install]
WantedBy=multi-user.target
`;
}

/** Escapes a word of a unit: systemd expands % and $. */
function quoted(word: string): string {
  const escaped = word.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('%', '%%').replaceAll('$', '$$$$');
  return /^[\w@%+=:,./-]+$/.test(escaped) ? escaped : `"${escaped}"`;
}

const systemPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** Writes the unit of a data directory. @param command Program and arguments. */
export function writeUnit(file: string, layout: Layout, command: readonly string[]): void {
  const joined = joinedOf(readSettings(layout.settings));
  const description = joined === undefined ? `Cluster in ${layout.root}` : `Part of the cluster at ${joined.server}`;
  const { PATH: path = systemPath, LD_LIBRARY_PATH: libraryPath } = process.env;
  replaceFile(file, serviceUnit({ command, description, path, libraryPath }));
}

/** Rejects with a SetupError that has systemd's message. */
export async function systemctl(...args: string[]): Promise<void> {
  try {
    await promisify(execFile)('systemctl', args);
  } catch (error) {
    throw new SetupError(`systemctl ${args.join(' ')}: ${messageOf(error)}`, { cause: error });
  }
}
