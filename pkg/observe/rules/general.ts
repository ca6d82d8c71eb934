/** Alerts about any daemon. */

import type { Names } from '#observe/names.js';
import type { Alert } from '#observe/rules/alert.js';

export function generalAlerts(names: Names): Alert[] {
  const { dialect, prefix } = names;
  return [
    {
      name: 'TargetDown',
      expr: '100 * sum by (job) (up{} == bool 0) / count by (job) (up{}) > 10',
      for: '10m',
      severity: 'warning',
      summary: 'Part of {{ $labels.job }} cannot be scraped.',
      description: '{{ printf "%.0f" $value }}% of the targets of {{ $labels.job }} do not answer.',
      runbook: {
        meaning:
          'Prometheus asks these targets for metrics and gets none: the daemon does not run, cannot be reached, or refuses.',
        look: ['# in Prometheus: the page Targets, or the query up == 0, says which and why', 'orchctl get nodes'],
        act: 'Start the daemon, or let Prometheus through. A refusal (401, 403) is cured by `orch observe`, which grants its rights again.',
      },
    },
    {
      name: `${prefix}DaemonRestarting`,
      expr: 'changes(process_start_time_seconds{}[30m]) > 2',
      severity: 'warning',
      summary: '{{ $labels.job }} at {{ $labels.instance }} starts again and again.',
      description: '{{ $labels.job }} at {{ $labels.instance }} was started {{ $value }} times within half an hour.',
      runbook: {
        meaning: 'A daemon ends, by itself or by force, and is started again by whoever keeps it running.',
        look: ['tail -n 50 DATA_DIR/logs/*.log', 'journalctl --unit orch --since -1h'],
        act: 'The last lines before each start say why it ended. Of memory: the kernel says `Out of memory` in its own log; raise the limit.',
      },
    },
    {
      name: `${prefix}EventLoopSlow`,
      expr: 'nodejs_eventloop_lag_p99_seconds{} > 0.5',
      for: '10m',
      severity: 'warning',
      summary: '{{ $labels.job }} at {{ $labels.instance }} answers late.',
      description:
        'One in a hundred turns of the event loop of {{ $labels.job }} at {{ $labels.instance }} waited {{ $value | humanizeDuration }}.',
      runbook: {
        meaning: 'The daemon has more to compute than its thread can, or the machine gives it too little time.',
        look: ['top -H', '# a profile of the daemon: GET /debug/pprof/profile?seconds=10 at its port'],
        act: 'Give the machine or the container more CPU; API servers take more `--workers`. Look at the dashboard API server for who asks that much.',
      },
    },
    {
      name: `${prefix}VersionMismatch`,
      expr: `count(count by (git_version) (${dialect.product}_build_info{})) > 1`,
      for: '1h',
      severity: 'warning',
      summary: 'Daemons of {{ $value }} versions run.',
      description: 'Daemons of {{ $value }} different versions have been running for an hour.',
      runbook: {
        meaning:
          'An upgrade has begun and not ended. Agents may be up to two minor versions behind their server, no more.',
        look: [
          'orchctl get nodes -o wide',
          `# in Prometheus: count by (job, instance, git_version) (${dialect.product}_build_info)`,
        ],
        act: 'Finish the upgrade: servers first, then nodes.',
      },
    },
    ...certificateAlerts(names),
  ];
}

/** Those in files are renewed 30 days before they end; agents have theirs renewed in the last third of their time. */
function certificateAlerts({ agent, prefix }: Names): Alert[] {
  const ending = (days: number, agentDays: number) => {
    const ttl = (kind: string) => `${agent}_certificate_manager_${kind}_ttl_seconds{} < ${agentDays} * 86400`;
    return `certificate_expiration_timestamp_seconds{} - time() < ${days} * 86400 or ${ttl('client')} or ${ttl('server')}`;
  };
  const common = {
    name: `${prefix}CertificateExpiring`,
    for: '15m',
    summary: 'A certificate of {{ $labels.job }} at {{ $labels.instance }} ends soon.',
    description:
      'The certificate{{ if $labels.role }} in the role {{ $labels.role }}{{ end }} of {{ $labels.job }} at {{ $labels.instance }} ends in {{ $value | humanizeDuration }}.',
    runbook: {
      meaning:
        'Certificates are renewed by themselves long before they end, and this one was not: nobody can write the file, the key of its authority is not there, or nobody signs what an agent asks for. When it has ended its user is refused.',
      look: [
        'orch certs',
        'orchctl describe node NAME',
        'orchctl get certificatesigningrequests',
        'tail -n 50 DATA_DIR/logs/*.log',
      ],
      act: 'On the machine: `orch certs renew`, which says what is in the way; nothing has to be started again. An authority itself is exchanged by hand: see certificates.md.',
    },
  } as const;
  return [
    { ...common, expr: ending(3, 1), severity: 'critical' },
    { ...common, expr: ending(14, 7), severity: 'warning' },
  ];
}
