/** Alerts about API servers and their clients. */

import type { Names } from '#observe/names.js';
import type { Alert } from '#observe/rules/alert.js';

export function apiServerAlerts({ prefix, jobs }: Names): Alert[] {
  return [
    {
      name: `${prefix}APIDown`,
      expr: `absent(up{job="${jobs.apiServer}"} == 1)`,
      for: '5m',
      severity: 'critical',
      summary: 'No API server answers.',
      description: 'No API server has answered Prometheus for five minutes.',
      runbook: {
        meaning: 'Nothing can be read or changed. What runs goes on running; nothing that fails is replaced.',
        look: [
          'orchctl get --raw /readyz?verbose',
          'tail -n 50 DATA_DIR/logs/orch.log DATA_DIR/logs/*apiserver.log',
          'orch etcd status',
        ],
        act: 'Start it (`orch up`, or `systemctl start orch`). Where it runs and is not ready, `/readyz?verbose` names the check that fails: mostly etcd.',
      },
    },
    ...errorBudgetAlerts(prefix),
    {
      name: `${prefix}APITerminatedRequests`,
      expr: 'sum(rate(apiserver_request_terminations_total{}[10m])) / (sum(rate(apiserver_request_total{}[10m])) + sum(rate(apiserver_request_terminations_total{}[10m]))) > 0.2',
      for: '5m',
      severity: 'warning',
      summary: 'API servers turn requests away.',
      description: '{{ $value | humanizePercentage }} of the requests were refused because too many were under way.',
      runbook: {
        meaning:
          'More requests are in flight than `--max-requests-inflight` and `--max-mutating-requests-inflight` allow; clients were told to come again later.',
        look: ['# in Prometheus: topk(10, sum by (resource, verb) (rate(apiserver_request_total[5m])))'],
        act: 'Find the client that asks so much (the audit log names users) and slow it down; add an API server; raise the limits if memory allows.',
      },
    },
    {
      name: `${prefix}APIResponsesRefused`,
      expr: 'sum by (instance) (rate(apiserver_refused_responses_total{}[5m])) > 0',
      for: '10m',
      severity: 'warning',
      summary: 'The API server {{ $labels.instance }} has no memory for its answers.',
      description: 'Answers of {{ $labels.instance }} were refused because too many of them waited for memory.',
      runbook: {
        meaning: 'Clients ask for long lists faster than they read them, or faster than memory lasts.',
        look: [
          '# in Prometheus: apiserver_response_memory_bytes, and topk(5, sum by (resource) (rate(apiserver_request_total{verb="LIST"}[5m])))',
        ],
        act: 'Let those clients watch instead of listing, or list in pages. Give the API server more memory.',
      },
    },
    {
      name: `${prefix}ClientErrors`,
      expr: '(sum by (job, instance) (rate(rest_client_requests_total{code=~"5..|<error>"}[5m])) / sum by (job, instance) (rate(rest_client_requests_total{}[5m]))) > 0.01',
      for: '15m',
      severity: 'warning',
      summary: '{{ $labels.job }} at {{ $labels.instance }} gets errors from the API server.',
      description:
        '{{ $value | humanizePercentage }} of the requests of {{ $labels.job }} at {{ $labels.instance }} failed.',
      runbook: {
        meaning: 'The daemon reaches no API server, or one that fails.',
        look: ['orchctl get --raw /readyz?verbose', 'tail -n 50 DATA_DIR/logs/*.log'],
        act: 'If one daemon has them: its network, its client configuration, its certificate (`orch certs`). If all have: the API server, see its own alerts.',
      },
    },
    {
      name: `${prefix}AggregatedAPIDown`,
      expr: 'max by (name) (aggregator_unavailable_apiservice{}) > 0',
      for: '15m',
      severity: 'warning',
      summary: 'The API {{ $labels.name }} is not available.',
      description: 'The extension API server of {{ $labels.name }} has not been available for 15 minutes.',
      runbook: {
        meaning:
          'An APIService names a Service whose pods do not answer. Clients cannot discover all resources; namespaces cannot be deleted.',
        look: ['orchctl get apiservices', 'orchctl describe apiservice NAME'],
        act: 'Its condition Available says why. Mend its pods, or delete the APIService if nobody needs it any more.',
      },
    },
    {
      name: `${prefix}AdmissionWebhookFailing`,
      expr: 'sum by (name) (rate(apiserver_admission_webhook_rejection_count{error_type="calling_webhook_error"}[10m])) > 0',
      for: '10m',
      severity: 'warning',
      summary: 'The admission webhook {{ $labels.name }} cannot be called.',
      description: 'Requests are rejected because the webhook {{ $labels.name }} does not answer, or not in time.',
      runbook: {
        meaning: 'A webhook with `failurePolicy: Fail` does not answer: what it is asked about cannot be written.',
        look: [
          'orchctl get validatingwebhookconfigurations,mutatingwebhookconfigurations',
          '# the Service that clientConfig names, and its endpoints',
        ],
        act: 'Mend the pods of its Service. To get out of a deadlock, delete the configuration or set its `failurePolicy` to Ignore.',
      },
    },
    {
      name: `${prefix}AuditErrors`,
      expr: 'sum by (plugin) (rate(apiserver_audit_error_total{}[5m])) > 0',
      for: '10m',
      severity: 'warning',
      summary: 'Audit events get lost.',
      description: 'The audit backend {{ $labels.plugin }} could not keep events.',
      runbook: {
        meaning: 'The disk of the audit log is full or the webhook that takes events does not answer.',
        look: ['df -h', 'tail -n 50 DATA_DIR/logs/*apiserver.log'],
        act: 'Make room (`--audit-log-maxsize`, `--audit-log-maxbackup`), or mend the webhook. What was lost stays lost.',
      },
    },
  ];
}

/** Of the 1% of requests that may fail or be slow within 30 days: at these rates two days, or five, use up all of it. */
function errorBudgetAlerts(prefix: string): Alert[] {
  const burning = (factor: number, long: string, short: string) =>
    `apiserver_request:burnrate${long}{} > (${factor} * 0.01) and apiserver_request:burnrate${short}{} > (${factor} * 0.01)`;
  const common = {
    name: `${prefix}APIErrorBudgetBurn`,
    summary: 'Too many requests fail or are slow.',
    description:
      '{{ $value | humanizePercentage }} of the requests of the last {{ $labels.long }} failed or were slow.',
    runbook: {
      meaning:
        'Requests are answered with 5xx, or reads and writes of single objects take longer than a second. At this rate the 1% of a month that may be so is used up within days.',
      look: [
        '# the dashboard API server; in Prometheus: topk(5, sum by (resource, verb, code) (rate(apiserver_request_total{code=~"5.."}[5m])))',
        'orch etcd status',
      ],
      act: 'Slow writes are mostly a slow disk below etcd: see its alerts. Slow reads of one resource are mostly one client that asks too much of it.',
    },
  };
  return [
    {
      ...common,
      expr: burning(14.4, '1h', '5m'),
      for: '2m',
      severity: 'critical',
      labels: { long: '1h', short: '5m' },
    },
    { ...common, expr: burning(6, '6h', '30m'), for: '15m', severity: 'warning', labels: { long: '6h', short: '30m' } },
  ];
}
