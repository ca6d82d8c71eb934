import { type Dashboard, graph, number, quantile, rate } from '#observe/dashboards/dashboard.js';
import type { Names } from '#observe/names.js';

export function etcdDashboard({ jobs }: Names): Dashboard {
  const of = `job="${jobs.etcd}"`;
  const by = ['instance'];
  const gauge = (name: string) => `sum by (instance) (${name}{${of}})`;
  return {
    uid: 'etcd',
    title: 'etcd',
    description: 'The store: its members, its disk, and what fills it.',
    rows: [
      {
        title: 'Members',
        panels: [
          number('Members', 'short', `sum(up{${of}})`),
          number('With a leader', 'short', `sum(etcd_server_has_leader{${of}})`),
          number('Changes of the leader', 'short', `max(etcd_server_leader_changes_seen_total{${of}})`),
          number('Size', 'bytes', `max(etcd_mvcc_db_total_size_in_bytes{${of}})`),
          number(
            'Of its quota',
            'percentunit',
            `max(etcd_mvcc_db_total_size_in_bytes{${of}} / etcd_server_quota_backend_bytes{${of}})`,
          ),
          number('Failed proposals', 'short', `sum(etcd_server_proposals_failed_total{${of}})`),
        ],
      },
      {
        title: 'Work',
        panels: [
          graph('Calls', 'reqps', {
            '{{grpc_method}}': rate('grpc_server_started_total', {
              by: ['grpc_method'],
              of: `${of}, grpc_type="unary"`,
            }),
          }),
          graph('Open streams', 'short', {
            '{{grpc_service}}': `sum by (grpc_service) (grpc_server_started_total{${of}, grpc_type="bidi_stream"}) - sum by (grpc_service) (grpc_server_handled_total{${of}, grpc_type="bidi_stream"})`,
          }),
          graph('Proposals', 'ops', {
            'committed {{instance}}': rate('etcd_server_proposals_committed_total', { by, of }),
            'applied {{instance}}': rate('etcd_server_proposals_applied_total', { by, of }),
          }),
          graph('Proposals that wait', 'short', { '{{instance}}': gauge('etcd_server_proposals_pending') }),
          graph('Clients: traffic', 'Bps', {
            'received {{instance}}': rate('etcd_network_client_grpc_received_bytes_total', { by, of }),
            'sent {{instance}}': rate('etcd_network_client_grpc_sent_bytes_total', { by, of }),
          }),
          graph('As API servers see it (99%)', 's', {
            '{{operation}}': quantile(0.99, 'etcd_request_duration_seconds', { by: ['operation'] }),
          }),
        ],
      },
      {
        title: 'Disk',
        panels: [
          graph('fsync of the log (99%)', 's', {
            '{{instance}}': quantile(0.99, 'etcd_disk_wal_fsync_duration_seconds', { by, of }),
          }),
          graph('Commits (99%)', 's', {
            '{{instance}}': quantile(0.99, 'etcd_disk_backend_commit_duration_seconds', { by, of }),
          }),
          graph('Database', 'bytes', {
            'file {{instance}}': gauge('etcd_mvcc_db_total_size_in_bytes'),
            'in use {{instance}}': gauge('etcd_mvcc_db_total_size_in_use_in_bytes'),
            'quota {{instance}}': gauge('etcd_server_quota_backend_bytes'),
          }),
          graph('Slow applies and reads', 'ops', {
            'applies {{instance}}': rate('etcd_server_slow_apply_total', { by, of }),
            'reads {{instance}}': rate('etcd_server_slow_read_indexes_total', { by, of }),
          }),
        ],
      },
      {
        title: 'Process',
        panels: [
          graph('CPU', 'cores', { '{{instance}}': rate('process_cpu_seconds_total', { by, of }) }),
          graph('Memory', 'bytes', { '{{instance}}': gauge('process_resident_memory_bytes') }),
        ],
      },
    ],
  };
}
