/** Alerts about names, services and ingresses. */

import type { Names } from '#observe/names.js';
import type { Alert } from '#observe/rules/alert.js';

export function serviceAlerts({ prefix, dnsAlert, dialect, agent }: Names): Alert[] {
  const dns = `${dialect.dnsMetricsPrefix}_dns_responses_total`;
  return [
    {
      name: `${dnsAlert}ErrorsHigh`,
      expr: `sum by (instance) (rate(${dns}{rcode="SERVFAIL"}[5m])) / sum by (instance) (rate(${dns}{}[5m])) > 0.03`,
      for: '10m',
      severity: 'warning',
      summary: 'The name server of {{ $labels.instance }} fails.',
      description:
        '{{ $value | humanizePercentage }} of the questions to the name server of {{ $labels.instance }} were answered with SERVFAIL.',
      runbook: {
        meaning:
          'Names outside of the cluster are asked of the machine’s resolvers, which do not answer; or the API server is away.',
        look: ['cat /etc/resolv.conf', `tail -n 50 DATA_DIR/logs/${agent}*.log DATA_DIR/logs/orch.log`],
        act: 'Mend the resolvers of the machine.',
      },
    },
    {
      name: `${prefix}ProxySyncFailing`,
      expr: `sum by (instance) (increase(${dialect.proxyMetricsPrefix}_sync_proxy_rules_nftables_sync_failures_total{}[10m])) > 0`,
      for: '10m',
      severity: 'critical',
      summary: 'Services of {{ $labels.instance }} lead nowhere new.',
      description: 'The proxy of {{ $labels.instance }} could not write its rules into the kernel.',
      runbook: {
        meaning: 'Rules stay as they were: services reach pods that are gone, and new ones are not reached at all.',
        look: ['nft list tables', `tail -n 50 DATA_DIR/logs/${agent}*.log DATA_DIR/logs/orch.log`],
        act: 'The log has what nft said: mostly a kernel without nf_tables, or another program that removes its tables.',
      },
    },
    {
      name: `${prefix}IngressErrors`,
      expr: 'sum by (ingress) (rate(ingress_requests_total{code="5xx"}[5m])) / sum by (ingress) (rate(ingress_requests_total{}[5m])) > 0.05',
      for: '10m',
      severity: 'warning',
      summary: 'The Ingress {{ $labels.ingress }} answers with errors.',
      description:
        '{{ $value | humanizePercentage }} of the requests to the Ingress {{ $labels.ingress }} were answered with 5xx.',
      runbook: {
        meaning: 'The pods behind it answer with errors, or (502, 503, 504) not at all.',
        look: ['orchctl describe ingress NAME -n NAMESPACE', 'orchctl get endpoints -n NAMESPACE'],
        act: 'Without endpoints: the selector of the Service, or the readiness of its pods. Else look at the log of the pods.',
      },
    },
    {
      name: `${prefix}IngressProblems`,
      expr: 'max by (job, instance) (ingress_problems{}) > 0',
      for: '15m',
      severity: 'warning',
      summary: '{{ $value }} rules of Ingresses cannot be carried out.',
      description: '{{ $value }} rules or certificates of Ingresses have not been usable for 15 minutes.',
      runbook: {
        meaning: 'An Ingress names a Service, a port or a Secret that is not there, or a certificate that is none.',
        look: ['orchctl get events -A --field-selector involvedObject.kind=Ingress'],
        act: 'Its events say which and why.',
      },
    },
  ];
}
