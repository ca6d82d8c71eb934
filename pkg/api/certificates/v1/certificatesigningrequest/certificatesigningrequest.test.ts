import t from 'tap';
import {
  prepareApproval,
  certificateSigningRequestStrategy as strategy,
} from '#api/certificates/v1/certificatesigningrequest/strategy.js';
import type { CertificateSigningRequest } from '#api/certificates/v1/types.gen.js';
import {
  created,
  createFailures,
  type Draft,
  statusFailures,
  testContext,
  updated,
  withField,
} from '#api/strategy/strategy-table.js';

const pem = '-----BEGIN CERTIFICATE REQUEST-----\nAA==\n-----END CERTIFICATE REQUEST-----\n';
const base: Draft = {
  metadata: { name: 'node:a', creationTimestamp: '2024-05-31T23:00:00Z' },
  spec: { request: Buffer.from(pem).toString('base64'), signerName: 'x.io/s', usages: ['client auth'], username: 'u' },
};
const approved = { type: 'Approved', status: 'True' };

t.test('signing requests', (t) => {
  const rows: [string, unknown, ...string[]][] = [
    ['spec.request', undefined, 'spec.request: Required value'],
    ['spec.usages', [], 'spec.usages: Required value'],
    ['spec.signerName', '', 'spec.signerName: Required value'],
    [
      'spec.signerName',
      'x',
      'spec.signerName: Invalid value: "x": must be a fully qualified domain and path of the form "example.com/signer-name"',
    ],
    [
      'spec.expirationSeconds',
      599,
      'spec.expirationSeconds: Invalid value: 599: may not specify a duration less than 600 seconds (10 minutes)',
    ],
  ];
  t.strictSame(createFailures(strategy, base), []);
  for (const [path, value, ...want] of rows)
    t.strictSame(createFailures(strategy, withField(base, path, value)), want, path);
  t.strictSame(
    statusFailures(strategy, base, { new: { conditions: [approved, { type: 'Denied', status: 'True' }] } }),
    ['status.conditions: Invalid value: "Denied": Approved and Denied conditions are mutually exclusive'],
  );
  t.strictSame(statusFailures(strategy, base, { new: { conditions: [{ type: 'Approved', status: 'False' }] } }), [
    'status.conditions[0].status: Invalid value: "False": must be "True"',
  ]);
  const old = created(strategy, base) as CertificateSigningRequest;
  t.strictSame(
    (updated(strategy, withField(base, 'spec.username', 'v'), old) as CertificateSigningRequest).spec,
    old.spec,
  );
  const approval = { ...structuredClone(old), status: { conditions: [approved], certificate: 'QQ==' } };
  prepareApproval(approval, old);
  t.strictSame(approval.status, { conditions: [approved] }, 'approval does not issue');
  t.end();
});

t.test('cells', (t) => {
  const state = (status: object): unknown =>
    strategy.cells?.({ ...created(strategy, base), status } as never, testContext)[4];
  t.strictSame(strategy.cells?.(created(strategy, base) as never, testContext), [
    'node:a',
    '60m',
    'x.io/s',
    'u',
    'Pending',
  ]);
  t.equal(state({ conditions: [approved] }), 'Approved');
  t.equal(state({ conditions: [approved], certificate: 'QQ==' }), 'Approved,Issued');
  t.equal(state({ conditions: [{ type: 'Denied', status: 'True' }] }), 'Denied');
  t.end();
});
