/** Section 1.1 of the CIS benchmark for release 1.24: files of the control plane. */
import type { Check } from '#cluster/check/cis/check.js';
import type { ServerFacts } from '#cluster/check/cis/facts.js';
import { fileRows, foreignFile, openFile } from '#cluster/check/cis/files.js';

type Row = Check<ServerFacts>;

const noStaticPods = 'daemons of the control plane are programs here, not static pods';

export const controlPlaneFileChecks: readonly Row[] = [
  ...['API server', 'controller manager', 'scheduler', 'etcd'].flatMap((daemon, index): Row[] => [
    {
      id: `1.1.${2 * index + 1}`,
      title: `Only the owner can read the pod manifest of: ${daemon}`,
      exempt: noStaticPods,
    },
    {
      id: `1.1.${2 * index + 2}`,
      title: `The user of the cluster owns the pod manifest of: ${daemon}`,
      exempt: noStaticPods,
    },
  ]),
  {
    id: '1.1.11',
    title: 'Only the owner can enter the data directory of etcd',
    exempt: ({ etcdDirectory }) =>
      etcdDirectory === undefined ? 'this machine runs no etcd of the cluster' : undefined,
    problem: ({ etcdDirectory }) => etcdDirectory && openFile([etcdDirectory], 0o700),
    remedy: 'chmod 700 DIRECTORY',
  },
  {
    id: '1.1.12',
    title: 'A user of its own owns the data directory of etcd',
    exempt:
      'etcd runs as the user of the cluster, who starts and supervises it; only this user can enter the directory',
  },
  ...fileRows(['1.1.13', '1.1.14'], 'the client configuration of the administrator', {
    files: (facts: ServerFacts) => facts.clientConfig,
  }),
  ...fileRows(['1.1.15', '1.1.16'], 'the client configuration of the scheduler', {
    files: (facts: ServerFacts) => facts.schedulerConfig,
  }),
  ...fileRows(['1.1.17', '1.1.18'], 'the client configuration of the controllers', {
    files: (facts: ServerFacts) => facts.managerConfig,
  }),
  {
    id: '1.1.19',
    title: 'The user of the cluster owns its certificates and keys',
    problem: ({ certificates, keys, user }) => foreignFile([...certificates, ...keys], user),
    remedy: 'chown root:root FILE',
  },
  {
    id: '1.1.20',
    title: 'Only the owner can read certificates',
    isManual: true,
    problem: ({ certificates }) => openFile(certificates),
    remedy: 'chmod 600 FILE',
  },
  {
    id: '1.1.21',
    title: 'Only the owner can read keys',
    isManual: true,
    problem: ({ keys }) => openFile(keys),
    remedy: 'chmod 600 FILE',
  },
];
