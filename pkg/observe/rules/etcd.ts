/** Alerts about etcd, under the names that its own project uses. */

import type { Names } from '#observe/names.js';
import type { Alert } from '#observe/rules/alert.js';

export function etcdAlerts({ jobs }: Names): Alert[] {
  const of = `job="${jobs.etcd}"`;
  const p99 = (name: string) => `histogram_quantile(0.99, sum by (instance, le) (rate(${name}_bucket{${of}}[5m])))`;
  const full = {
    look: ['orch etcd usage', 'orch etcd status'],
    act: 'See what fills it and delete that; unused space is given back by itself. Raise `--quota-backend-bytes` (8 GiB at most) if all of it is needed.',
  };
  const slowDisk = {
    look: ['iostat -x 1', 'df -h'],
    act: 'Give etcd a disk of its own, best an SSD; take away what else writes to it.',
  };
  return [
    {
      name: 'etcdMembersDown',
      expr: `sum(up{${of}} == bool 0) > 0`,
      for: '10m',
      severity: 'warning',
      summary: '{{ $value }} members of etcd are down.',
      description: '{{ $value }} members of etcd have not answered for ten minutes.',
      runbook: {
        meaning: 'The others go on as long as they are more than half.',
        look: ['orch etcd status', 'tail -n 50 DATA_DIR/logs/etcd.log'],
        act: 'Start the member again. If its disk is gone, remove the member and add a new one.',
      },
    },
    {
      name: 'etcdInsufficientMembers',
      expr: `sum(up{${of}} == bool 1) < (count(up{${of}}) + 1) / 2`,
      for: '3m',
      severity: 'critical',
      summary: 'etcd has lost its majority.',
      description: 'Only {{ $value }} members of etcd answer, which is no majority.',
      runbook: {
        meaning: 'Nothing can be written, and only what API servers have in memory can be read.',
        look: ['orch etcd status', 'tail -n 50 DATA_DIR/logs/etcd.log'],
        act: 'Start the members that are missing. If their data is gone for good, restore the newest backup: `orch backup restore`.',
      },
    },
    {
      name: 'etcdNoLeader',
      expr: `etcd_server_has_leader{${of}} == 0`,
      for: '1m',
      severity: 'critical',
      summary: 'The member {{ $labels.instance }} of etcd has no leader.',
      description: 'The member {{ $labels.instance }} of etcd has had no leader for a minute.',
      runbook: {
        meaning: 'The member reaches no majority of the others, or they cannot agree. It answers nothing meanwhile.',
        look: ['orch etcd status', 'tail -n 50 DATA_DIR/logs/etcd.log'],
        act: 'Look at the network between the members (ports 2380), at their clocks, and at how loaded their machines are.',
      },
    },
    {
      name: 'etcdHighNumberOfLeaderChanges',
      expr: `increase(etcd_server_leader_changes_seen_total{${of}}[15m]) >= 4`,
      for: '5m',
      severity: 'warning',
      summary: 'The leader of etcd changes often.',
      description: 'The member {{ $labels.instance }} has seen {{ $value | humanize }} leaders within 15 minutes.',
      runbook: {
        meaning:
          'Heartbeats come too late: a slow disk, a slow network, or too little CPU. Each change holds up writes for a second.',
        look: ['iostat -x 1', '# the dashboard etcd: fsync and round trips'],
        act: 'Mend what is slow. Only then raise `--heartbeat-interval` and `--election-timeout`.',
      },
    },
    {
      name: 'etcdHighNumberOfFailedProposals',
      expr: `increase(etcd_server_proposals_failed_total{${of}}[15m]) > 5`,
      for: '15m',
      severity: 'warning',
      summary: 'Writes to etcd fail.',
      description: '{{ $value | humanize }} proposals of {{ $labels.instance }} failed within 15 minutes.',
      runbook: {
        meaning: 'Writes found no majority in time: leaders change, or members are away.',
        look: ['orch etcd status', 'tail -n 50 DATA_DIR/logs/etcd.log'],
        act: 'See etcdMembersDown and etcdHighNumberOfLeaderChanges.',
      },
    },
    {
      name: 'etcdMemberCommunicationSlow',
      expr: `histogram_quantile(0.99, sum by (instance, To, le) (rate(etcd_network_peer_round_trip_time_seconds_bucket{${of}}[5m]))) > 0.15`,
      for: '10m',
      severity: 'warning',
      summary: 'Members of etcd hear each other late.',
      description: 'From {{ $labels.instance }} to {{ $labels.To }} and back takes {{ $value | humanizeDuration }}.',
      runbook: {
        meaning: 'The network between two members is slow or loses packets.',
        look: ['ping MEMBER', '# the dashboard etcd: round trips'],
        act: 'Mend the network. Members belong into one region.',
      },
    },
    {
      name: 'etcdHighFsyncDurations',
      expr: `${p99('etcd_disk_wal_fsync_duration_seconds')} > 0.5`,
      for: '10m',
      severity: 'warning',
      summary: 'The disk of etcd is slow.',
      description: 'One in a hundred fsyncs of {{ $labels.instance }} takes {{ $value | humanizeDuration }}.',
      runbook: { meaning: 'Every write waits for the disk. Beyond a second leaders are lost.', ...slowDisk },
    },
    {
      name: 'etcdHighCommitDurations',
      expr: `${p99('etcd_disk_backend_commit_duration_seconds')} > 0.25`,
      for: '10m',
      severity: 'warning',
      summary: 'etcd commits slowly.',
      description: 'One in a hundred commits of {{ $labels.instance }} takes {{ $value | humanizeDuration }}.',
      runbook: {
        meaning: 'The database is written slowly: a slow disk, or very much in one transaction.',
        ...slowDisk,
      },
    },
    {
      name: 'etcdDatabaseQuotaLowSpace',
      expr: `etcd_mvcc_db_total_size_in_bytes{${of}} / etcd_server_quota_backend_bytes{${of}} > 0.95`,
      for: '10m',
      severity: 'critical',
      summary: 'etcd is almost full.',
      description:
        'The database of {{ $labels.instance }} has {{ $value | humanizePercentage }} of the size that it may have.',
      runbook: { meaning: 'At its quota etcd raises an alarm and takes nothing but deletions.', ...full },
    },
    {
      name: 'etcdExcessiveDatabaseGrowth',
      expr: `predict_linear(etcd_mvcc_db_total_size_in_bytes{${of}}[4h], 4 * 3600) > etcd_server_quota_backend_bytes{${of}}`,
      for: '10m',
      severity: 'warning',
      summary: 'etcd will be full within four hours.',
      description:
        'At the rate of the last four hours the database of {{ $labels.instance }} reaches its quota within the next four.',
      runbook: { meaning: 'Somebody writes much: many objects, large ones, or the same ones very often.', ...full },
    },
    {
      name: 'etcdDatabaseHighFragmentationRatio',
      expr: `etcd_mvcc_db_total_size_in_use_in_bytes{${of}} / etcd_mvcc_db_total_size_in_bytes{${of}} < 0.5 and etcd_mvcc_db_total_size_in_use_in_bytes{${of}} > 104857600`,
      for: '10m',
      severity: 'warning',
      summary: 'Half of the file of etcd is unused.',
      description: 'Only {{ $value | humanizePercentage }} of the database file of {{ $labels.instance }} is in use.',
      runbook: {
        meaning: 'Much was deleted. The room is used again, but the file stays as large.',
        look: ['orch etcd status'],
        act: 'An etcd of `orch up` is defragmented by itself. Another one: `etcdctl defrag`, one member after the other.',
      },
    },
  ];
}
