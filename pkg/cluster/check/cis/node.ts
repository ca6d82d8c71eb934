/** Section 4 of the CIS benchmark for release 1.24: files and options of node agents. */
import type { Check } from '#cluster/check/cis/check.js';
import { weakSuites } from '#cluster/check/cis/cipher-suites.js';
import type { AgentFacts, FileFacts, NodeFacts } from '#cluster/check/cis/facts.js';
import { fileRows } from '#cluster/check/cis/files.js';

type Row = Check<NodeFacts>;

const arg = (option: string) => `orch up --nodeagent-arg=${option}`;

/** The problem of the first agent that has one. */
const eachAgent =
  (problem: (agent: AgentFacts) => string | undefined) =>
  ({ agents }: NodeFacts): string | undefined => {
    for (const agent of agents) {
      const why = problem(agent);
      if (why !== undefined) return agents.length === 1 ? why : `${agent.name}: ${why}`;
    }
    return undefined;
  };

const ofAgents =
  (files: (agent: AgentFacts) => readonly FileFacts[]) =>
  ({ agents }: NodeFacts) =>
    agents.flatMap(files);

const files: readonly Row[] = [
  ...fileRows(['1.1.9', '1.1.10'], 'the configuration of the pod network', {
    absent: 'containers are simulated here',
    files: ofAgents((agent) => agent.networkConfig),
    isManual: true,
  }),
  ...fileRows(['4.1.1', '4.1.2'], 'the systemd unit', {
    absent: 'this machine has no systemd unit of the cluster',
    files: ({ unit }: NodeFacts) => unit,
  }),
  { id: '4.1.3', title: 'Only the owner can read the client configuration of the service proxy', exempt: noProxyFile },
  {
    id: '4.1.4',
    title: 'The user of the cluster owns the client configuration of the service proxy',
    exempt: noProxyFile,
  },
  ...fileRows(['4.1.5', '4.1.6'], 'the client configuration of the agent', {
    absent: 'the agent runs in the process of the API server and has no such file',
    files: ofAgents((agent) => agent.clientConfig),
  }),
  ...fileRows(['4.1.7', '4.1.8'], 'the authority of the agent’s clients', {
    absent: 'the agent has none',
    files: ofAgents((agent) => agent.authorities),
    isManual: true,
  }),
  ...fileRows(['4.1.9', '4.1.10'], 'the agent’s configuration file', {
    absent: 'the agent has none',
    files: ofAgents((agent) => agent.configFile),
    isManual: true,
  }),
];

function noProxyFile(): string {
  return 'the service proxy runs in the process of the agent';
}

const options: readonly Row[] = [
  {
    id: '4.2.1',
    title: 'The agent refuses requests without credentials',
    problem: eachAgent(({ values }) => (values['anonymous-auth'] ? '--anonymous-auth is true' : undefined)),
    remedy: arg('anonymous-auth=false'),
  },
  {
    id: '4.2.2',
    title: 'The agent authorizes requests',
    problem: eachAgent(({ values }) =>
      values['authorization-mode'] === 'AlwaysAllow' ? '--authorization-mode is AlwaysAllow' : undefined,
    ),
    remedy: arg('authorization-mode=Webhook'),
  },
  {
    id: '4.2.3',
    title: 'The agent verifies the certificates of its clients',
    problem: eachAgent(({ values }) =>
      (values['client-ca-file'] ?? '') === '' ? '--client-ca-file is not set' : undefined,
    ),
    remedy: arg('client-ca-file=FILE'),
  },
  {
    id: '4.2.4',
    title: 'The agent has no port without authentication',
    isManual: true,
    problem: eachAgent(({ values }) =>
      values['read-only-port'] === 0 ? undefined : `--read-only-port is ${values['read-only-port']}`,
    ),
    remedy: arg('read-only-port=0'),
  },
  {
    id: '4.2.5',
    title: 'Idle streams end',
    isManual: true,
    problem: eachAgent(({ values }) =>
      values['streaming-connection-idle-timeout'] === 0 ? '--streaming-connection-idle-timeout is 0' : undefined,
    ),
    remedy: arg('streaming-connection-idle-timeout=5m0s'),
  },
  {
    id: '4.2.6',
    title: 'The agent does not change settings of the kernel',
    exempt: 'it never changes any; --protect-kernel-defaults also refuses a machine whose settings differ',
  },
  {
    id: '4.2.7',
    title: 'The agent keeps the firewall rules of its pods',
    exempt: 'the service proxy keeps them, in an nftables table of its own',
  },
  {
    id: '4.2.8',
    title: 'The agent goes by the name of its host',
    isManual: true,
    problem: eachAgent(({ values }) =>
      (values['hostname-override'] ?? '') === '' ? undefined : `--hostname-override is ${values['hostname-override']}`,
    ),
    remedy: 'the certificate of the agent has this name too, so nothing needs to change',
  },
  {
    id: '4.2.9',
    title: 'The rate of events is limited, and not too low',
    isManual: true,
    problem: eachAgent(({ values }) =>
      values['event-qps'] === 0 ? '--event-qps is 0, which means no limit' : undefined,
    ),
    remedy: arg('event-qps=5'),
  },
  {
    id: '4.2.10',
    title: 'The agent has a serving certificate of the cluster',
    isManual: true,
    problem: eachAgent(({ values }) =>
      (values['tls-cert-file'] ?? '') !== '' || values['rotate-server-certificates']
        ? undefined
        : 'neither --tls-cert-file nor --rotate-server-certificates is set',
    ),
    remedy: arg('rotate-server-certificates=true'),
  },
  {
    id: '4.2.11',
    title: 'Client certificates of the agent are renewed',
    exempt: ({ agents }) =>
      agents.every(({ values }) => (values['bootstrap-kubeconfig'] ?? '') === '')
        ? 'the cluster itself renews the certificates of agents on this machine, see orch certs'
        : undefined,
    problem: eachAgent(({ values }) => (values['rotate-certificates'] ? undefined : '--rotate-certificates is false')),
    remedy: arg('rotate-certificates=true'),
  },
  {
    id: '4.2.12',
    title: 'Serving certificates of the agent are renewed',
    isManual: true,
    problem: eachAgent(({ values }) =>
      values['feature-gates']['RotateKubeletServerCertificate'] === false
        ? 'the gate RotateKubeletServerCertificate is off'
        : undefined,
    ),
    remedy: 'leave the gate RotateKubeletServerCertificate on',
  },
  {
    id: '4.2.13',
    title: 'The agent uses strong cipher suites only',
    isManual: true,
    problem: eachAgent(({ values }) => weakSuites(values['tls-cipher-suites'])),
    remedy: arg('tls-cipher-suites=TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,…'),
  },
];

export const nodeChecks: readonly Row[] = [...files, ...options];
