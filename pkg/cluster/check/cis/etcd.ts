/** Section 2 of the CIS benchmark for release 1.24: options of etcd. */
import type { Check } from '#cluster/check/cis/check.js';
import type { ServerFacts } from '#cluster/check/cis/facts.js';
import { unsetOptions } from '#cluster/check/cis/option-values.js';

type Row = Check<ServerFacts>;

const exempt: Row['exempt'] = ({ etcd }) => (etcd === undefined ? 'the cluster runs no etcd of its own' : undefined);

const set = (id: string, title: string, options: readonly string[]): Row => ({
  id,
  title,
  exempt,
  problem: ({ etcd }) => unsetOptions(options, (option) => etcd?.get(option)),
});

const flag = (id: string, title: string, option: string, value: boolean): Row => ({
  id,
  title,
  exempt,
  problem: ({ etcd }) => {
    const actual = etcd?.get(option) === 'true';
    return actual === value ? undefined : `--${option} is ${actual}`;
  },
});

export const etcdChecks: readonly Row[] = [
  set('2.1', 'etcd serves over TLS', ['cert-file', 'key-file']),
  flag('2.2', 'etcd refuses clients without a certificate', 'client-cert-auth', true),
  flag('2.3', 'etcd makes no certificate for itself', 'auto-tls', false),
  set('2.4', 'Members of etcd talk over TLS', ['peer-cert-file', 'peer-key-file']),
  flag('2.5', 'Members of etcd refuse others without a certificate', 'peer-client-cert-auth', true),
  flag('2.6', 'Members of etcd make no certificates for themselves', 'peer-auto-tls', false),
  {
    id: '2.7',
    title: 'etcd has an authority of its own',
    isManual: true,
    exempt,
    problem: ({ etcd, apiServer }) =>
      etcd?.get('trusted-ca-file') === apiServer['client-ca-file']
        ? 'etcd and the API server trust the same authority'
        : undefined,
  },
];
