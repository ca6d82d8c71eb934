/** The unit by which systemd starts a cluster, or a node of one, with the machine. Pure. */

/** Where systemd looks for those of the machine's owner. */
export const unitsDir = '/etc/systemd/system';

export interface ServiceUnit {
  readonly description: string;
  /** Program and arguments. */
  readonly command: readonly string[];
  /** Where the programs that it runs are looked for. */
  readonly path: string;
}

export function serviceUnit({ command, description, path }: ServiceUnit): string {
  return `[Unit]
Description=${description}
Wants=network-online.target
After=network-online.target
# A machine that is not ready for it yet, at boot for example, tries again for as long as it takes.
StartLimitIntervalSec=0

[Service]
Type=exec
ExecStart=${command.map(quoted).join(' ')}
Environment=${quoted(`PATH=${path}`)}
Restart=always
RestartSec=2
# It takes its containers down in order when it is told to stop; without that they go on, for the programs that come next.
KillMode=process
TimeoutStopSec=90
# The cgroups of pods, and as many processes and files as they need.
Delegate=yes
TasksMax=infinity
LimitNOFILE=1048576
OOMScoreAdjust=-999

[Install]
WantedBy=multi-user.target
`;
}

/** A word as units have it: systemd replaces what begins with % or $. */
function quoted(word: string): string {
  const escaped = word.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('%', '%%').replaceAll('$', '$$$$');
  return /^[\w@%+=:,./-]+$/.test(escaped) ? escaped : `"${escaped}"`;
}
