/** Leases, certificates and drains with a problem, and why. */
import type { Lease } from '#api/coordination/v1/types.gen.js';
import type { PodDisruptionBudget } from '#api/policy/v1/types.gen.js';
import { expired, forOther, forShop } from '#insight/testing/certificates.js';
import { ago, crashed, lease, node, pod, workload } from '#insight/testing/objects.js';
import { ingress, tlsSecret } from '#insight/testing/service-situations.js';
import type { Situation } from '#insight/testing/situation.js';
import { object } from '#insight/testing/system-situations.js';

const held = (seconds: number, spec: object = {}, metadata: object = {}): Lease => {
  const base = lease('kube-system', 'kube-scheduler', seconds);
  return {
    ...base,
    metadata: { ...base.metadata, creationTimestamp: ago(7200), ...metadata },
    spec: { ...base.spec, ...spec },
  };
};
const tls = { tls: [{ hosts: ['shop.example.com'], secretName: 'web-tls' }] };
const cordoned = node({}, { spec: { unschedulable: true } });
const guarded = pod({ isReady: true });
const budget = (status: object) =>
  workload<PodDisruptionBudget>('PodDisruptionBudget', 'policy/v1', {
    spec: { minAvailable: 1 },
    status: { disruptionsAllowed: 0, currentHealthy: 1, desiredHealthy: 1, expectedPods: 1, ...status },
  });
const request = (signerName: string, conditions: object[], seconds = 600) =>
  object(
    'CertificateSigningRequest',
    { spec: { signerName, username: 'system:node:n1' }, status: { conditions } },
    { creationTimestamp: ago(seconds) },
  );
/** Of no certificate here; made for this test alone. */
const otherKey = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgp+ncblpDFTWzIXBs
/viPIlGi/598C1bLAtY9GhcQPR6hRANCAASs1HdXlErv9wWlB/3M4Efqy49n7c2A
4pf0TBPXss7gC3er8KVyZMVz+h/g2WoG8YeDxc6tg8o7Nl2zRnOkkFsD
-----END PRIVATE KEY-----`;
const approved = { type: 'Approved', status: 'True' };

export const accessSituations: readonly Situation[] = [
  {
    name: 'a lease whose leader is gone',
    about: held(90),
    objects: [],
    root: 'NoLeader',
    says: 'has not renewed its lease for 90 seconds',
    quotes: 'kube-scheduler-1',
  },
  {
    name: 'a lease that no process holds',
    about: held(90, { holderIdentity: '' }),
    objects: [],
    root: 'NoLeader',
    says: 'No process leads kube-scheduler',
  },
  {
    name: 'a lease whose leader is a pod that crashes',
    about: held(90, { holderIdentity: 'operator-0_0d7f' }, { namespace: 'shop', name: 'operator' }),
    objects: [pod({ name: 'operator-0', app: crashed(2), phase: 'Running' })],
    logs: { 'operator-0/app': ['no route to host'] },
    root: 'Crashes',
    says: 'exit code 2',
  },
  {
    name: 'a lease that two candidates take from each other',
    about: held(1, { leaseTransitions: 240, acquireTime: ago(20) }),
    objects: [],
    root: 'LeadersAlternate',
    says: 'has changed 240 times in 2 hours',
  },
  {
    name: 'a lease that was renewed in the future',
    about: held(-120),
    objects: [],
    root: 'ClocksDiffer',
    says: '120 seconds in the future',
  },
  {
    name: 'the lease of a silent node',
    about: { ...lease('kube-node-lease', 'n1', 75) },
    objects: [node({ Ready: 'Unknown' }), lease('kube-node-lease', 'n1', 75)],
    root: 'NodeSilent',
    says: 'n1',
  },
  {
    name: 'the lease of a node that is gone',
    about: lease('kube-node-lease', 'n9', 7500),
    objects: [],
    root: 'NodeMissing',
    says: 'Node n9',
  },
  {
    name: 'a secret with a certificate that is over',
    about: tlsSecret(expired),
    objects: [ingress(tls)],
    root: 'CertificateExpired',
    says: 'ended on',
    quotes: 'web-tls',
  },
  {
    name: 'a secret with a certificate for another host than its ingress has',
    about: tlsSecret(forOther),
    objects: [ingress(tls)],
    root: 'CertificateForOtherHost',
    says: 'not for shop.example.com',
  },
  {
    name: 'a secret with text in place of a certificate',
    about: tlsSecret('hello'),
    objects: [],
    root: 'CertificateInvalid',
    says: 'no valid certificate',
  },
  {
    name: 'a secret with a certificate and the key of another one',
    about: {
      ...tlsSecret(forShop),
      data: { 'tls.crt': Buffer.from(forShop).toString('base64'), 'tls.key': Buffer.from(otherKey).toString('base64') },
    } as Situation['about'],
    objects: [],
    root: 'KeyDoesNotMatch',
    says: 'not that of the certificate',
  },
  {
    name: 'a cordoned node whose drain waits for a budget',
    about: cordoned,
    objects: [guarded, budget({})],
    root: 'NodeCordoned',
    says: 'cordoned',
    quotes: 'minAvailable 1',
    others: ['BudgetAllowsNone'],
  },
  {
    name: 'a cordoned node whose drain waits for pods that crash elsewhere',
    about: cordoned,
    objects: [
      guarded,
      pod({ name: 'web-1', node: 'n2', app: crashed(1), phase: 'Running' }),
      node({}, { metadata: { name: 'n2' } }),
      budget({ currentHealthy: 1, desiredHealthy: 1, expectedPods: 2 }),
    ],
    root: 'NodeCordoned',
    says: 'cordoned',
    others: ['Crashes'],
  },
  {
    name: 'an approved request for a signer that is not there',
    about: request('kubernetes.io/kube-apiserver-clients', [approved]),
    objects: [],
    root: 'SignerUnknown',
    says: 'No signer has the name kubernetes.io/kube-apiserver-clients',
  },
  {
    name: 'an approved request while no controller manager leads',
    about: request('kubernetes.io/kube-apiserver-client', [approved]),
    objects: [lease('kube-system', 'kube-controller-manager', 90)],
    root: 'NoLeader',
    says: 'kube-controller-manager',
  },
  {
    name: 'a request of a node agent for its server, which waits for an approval',
    about: request('kubernetes.io/kubelet-serving', []),
    objects: [],
    root: 'WaitsForApproval',
    says: 'never approved automatically',
  },
  {
    name: 'a webhook whose authorities are over',
    about: object('ValidatingWebhookConfiguration', {
      webhooks: [
        {
          name: 'policy.example.com',
          clientConfig: { url: 'https://policy.example.com', caBundle: Buffer.from(expired).toString('base64') },
        },
      ],
    }),
    objects: [],
    root: 'AuthoritiesInvalid',
    says: 'its last certificate ended on',
  },
];
