import { apiserver } from '#test/integration/daemons/flags/cases/apiserver.js';
import { kubelet } from '#test/integration/daemons/flags/cases/kubelet.js';
import { manager } from '#test/integration/daemons/flags/cases/manager.js';
import { scheduler } from '#test/integration/daemons/flags/cases/scheduler.js';

/**
 * Command lines that a daemon of release 1.24 refuses, or takes although they look odd: flags in addition to those that
 * the daemon needs. `$DIR` is a folder with a key (`sa.key`), its public part (`sa.pub`), and nothing else.
 */
export interface DaemonCases {
  /** Flags at the beginning of every case. */
  readonly needs: readonly string[];
  readonly cases: readonly (readonly string[])[];
}

export type DaemonName = 'kube-apiserver' | 'kube-controller-manager' | 'kube-scheduler' | 'kubelet';

const keys = ['--service-account-signing-key-file=$DIR/sa.key', '--service-account-key-file=$DIR/sa.pub'];
const issuer = '--service-account-issuer=https://a.example';
const etcd = '--etcd-servers=http://127.0.0.1:1';
const range = '--service-cluster-ip-range=10.96.0.0/16';

export const daemonCases: Readonly<Record<DaemonName, DaemonCases>> = {
  'kube-apiserver': {
    needs: [etcd, issuer, ...keys, range, '--cert-dir=$DIR/certs', '--secure-port=16443', '--bind-address=127.0.0.1'],
    cases: apiserver,
  },
  'kube-controller-manager': {
    needs: ['--master=http://127.0.0.1:1', '--secure-port=16257', '--bind-address=127.0.0.1', '--cert-dir=$DIR/certs'],
    cases: manager,
  },
  'kube-scheduler': {
    needs: ['--master=http://127.0.0.1:1', '--secure-port=16259', '--bind-address=127.0.0.1', '--cert-dir=$DIR/certs'],
    cases: scheduler,
  },
  kubelet: {
    needs: [
      '--root-dir=$DIR/root',
      '--cert-dir=$DIR/certs',
      '--container-runtime-endpoint=unix://$DIR/none.sock',
      '--fail-swap-on=false',
      '--port=16250',
      '--read-only-port=0',
      '--healthz-port=0',
    ],
    cases: kubelet,
  },
};
