import { generateKeyPairSync, sign } from 'node:crypto';
import t from 'tap';
import { validateApproval } from '#api/certificates/v1/certificatesigningrequest/status-validation.js';
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
} from '#api/testing/strategy-table.js';
import { bitString, explicit, oid, sequence, set, unsignedInteger, utf8String } from '#apimachinery/asn1/der.js';
import { encodePem } from '#apimachinery/asn1/pem.js';
import { copyJson } from '#apimachinery/collections/copy.js';
import type { Draft as Mutable } from '#apimachinery/draft.js';

/** A request with the name `a` for a new key, signed by that key unless `forge` is set. */
function pkcs10(type: 'ec' | 'ed25519' | 'rsa' = 'ec', forge = false): string {
  const make = () =>
    type === 'ec'
      ? generateKeyPairSync('ec', { namedCurve: 'P-256' })
      : type === 'rsa'
        ? generateKeyPairSync('rsa', { modulusLength: 2048 })
        : generateKeyPairSync('ed25519');
  const pair = make();
  const name = sequence(set(sequence(oid('2.5.4.3'), utf8String('a'))));
  const key = pair.publicKey.export({ type: 'spki', format: 'der' });
  const info = sequence(unsignedInteger(Buffer.from([0])), name, key, explicit(0));
  const algorithms = { ec: '1.2.840.10045.4.3.2', ed25519: '1.3.101.112', rsa: '1.2.840.113549.1.1.11' };
  const signer = forge ? make().privateKey : pair.privateKey;
  const signature = sign(type === 'ed25519' ? null : 'sha256', info, signer);
  const der = sequence(info, sequence(oid(algorithms[type])), bitString(signature));
  return Buffer.from(encodePem('CERTIFICATE REQUEST', der)).toString('base64');
}

const garbage = '-----BEGIN CERTIFICATE REQUEST-----\nAA==\n-----END CERTIFICATE REQUEST-----\n';
const base: Draft = {
  metadata: { name: 'node:a', creationTimestamp: '2024-05-31T23:00:00Z' },
  spec: { request: pkcs10(), signerName: 'x.io/s', usages: ['client auth'], username: 'u' },
};
const approved = { type: 'Approved', status: 'True' };

t.test('signing requests', (t) => {
  const rows: [string, unknown, ...string[]][] = [
    ['spec.request', undefined, 'spec.request: Invalid value: []byte(nil): PEM block type must be CERTIFICATE REQUEST'],
    ['spec.usages', [], 'spec.usages: Required value: usages must be provided'],
    ['spec.usages', ['any', 'any'], 'spec.usages[1]: Duplicate value: "any"'],
    ['spec.signerName', '', 'spec.signerName: Required value: signerName must be provided'],
    [
      'spec.signerName',
      'x',
      'spec.signerName: Invalid value: "x": must be a fully qualified domain and path of the form \'example.com/signer-name\'',
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
  t.match(createFailures(strategy, withField(base, 'spec.usages', ['flying'])), [
    /^spec.usages\[0\]: Unsupported value: "flying"/,
  ]);
  t.match(createFailures(strategy, withField(base, 'spec.signerName', 'orch.io/legacy-unknown')), [
    /^spec.signerName: .*legacy signerName is not allowed/,
  ]);
  const old = created(strategy, base) as CertificateSigningRequest;
  t.strictSame(
    (updated(strategy, withField(base, 'spec.username', 'v'), old) as CertificateSigningRequest).spec,
    old.spec,
  );
  const approval = { ...copyJson(old), status: { conditions: [approved], certificate: 'QQ==' } };
  prepareApproval(approval, old, testContext);
  t.match(approval.status.conditions, [approved]);
  t.equal(approval.status.certificate, undefined, 'an approval does not issue the certificate');
  t.end();
});

t.test('cells', (t) => {
  const state = (status: object): unknown =>
    strategy.cells?.({ ...created(strategy, base), status } as never, testContext)[5];
  t.strictSame(strategy.cells?.(created(strategy, base) as never, testContext), [
    'node:a',
    '60m',
    'x.io/s',
    'u',
    '<none>',
    'Pending',
  ]);
  t.equal(state({ conditions: [approved] }), 'Approved');
  t.equal(state({ conditions: [approved], certificate: 'QQ==' }), 'Approved,Issued');
  t.equal(state({ conditions: [{ type: 'Denied', status: 'True' }] }), 'Denied');
  t.end();
});

t.test('the request must be signed by its own key', (t) => {
  for (const type of ['ec', 'ed25519', 'rsa'] as const) {
    t.strictSame(createFailures(strategy, withField(base, 'spec.request', pkcs10(type))), [], type);
    t.match(createFailures(strategy, withField(base, 'spec.request', pkcs10(type, true))), [
      /^spec.request: .*signature is not that of the requested key/,
    ]);
  }
  const whole = Buffer.from(pkcs10(), 'base64').toString('latin1');
  const rows: [text: string, failure: RegExp][] = [
    ['hello', /PEM block type must be CERTIFICATE REQUEST/],
    [garbage, /unable to parse csr/],
    [whole.replaceAll('CERTIFICATE REQUEST', 'CERTIFICATE'), /PEM block type must be/],
    [whole.replace(/\n[^\n]+\n-----END/, '\n-----END'), /unable to parse csr/],
  ];
  for (const [text, failure] of rows) {
    const request = Buffer.from(text, 'latin1').toString('base64');
    t.match(createFailures(strategy, withField(base, 'spec.request', request)), [failure]);
  }
  t.end();
});

t.test('the requester is the authenticated user', (t) => {
  const draft = { ...copyJson(base) } as unknown as Mutable<CertificateSigningRequest>;
  Object.assign(draft.spec, { username: 'admin', groups: ['system:masters'], uid: '1', extra: { a: ['b'] } });
  const user = { name: 'eve', groups: ['dev'], extra: { scopes: ['x'] } };
  strategy.prepareForCreate?.(draft, { ...testContext, user });
  t.match(draft.spec, { username: 'eve', groups: ['dev'], extra: { scopes: ['x'] } });
  t.equal(draft.spec.uid, undefined);
  t.end();
});

t.test('only the approval subresource may approve or deny', (t) => {
  const denied = { type: 'Denied', status: 'True' };
  const request = (...conditions: object[]) =>
    ({ ...structuredClone(base), status: { conditions } }) as unknown as CertificateSigningRequest;
  const approval = (before: CertificateSigningRequest, after: CertificateSigningRequest) =>
    validateApproval(after, before).map((failure) => `${failure.field}: ${failure.message}`);
  t.strictSame(approval(request(), request(approved)), []);
  t.match(approval(request(), request(approved, denied)), [/conditions\[1\].type: .*mutually exclusive/]);
  t.match(approval(request(approved), request()), [/may not remove a condition of type "Approved"/]);
  t.strictSame(
    approval(request(approved), request({ ...approved, reason: 'x' })),
    [],
    'the reason of a decision may change',
  );
  t.match(approval(request(), request({ type: 'Approved', status: 'False' })), [/status: Unsupported value: .*False/]);
  t.match(approval(request(), request({ type: 'Odd', status: 'Perhaps' })), [/status: Unsupported/]);
  t.match(approval(request(), request({ type: '', status: '' })), [/type: Required/, /status: Required/]);
  const status = (old: unknown, next: unknown) => statusFailures(strategy, base, { old, new: next });
  t.match(status({}, { conditions: [approved] }), [/may not add a condition of type "Approved"/]);
  t.strictSame(status({}, { conditions: [{ type: 'Failed', status: 'True' }] }), []);
  t.match(status({ certificate: 'QQ==' }, { certificate: 'QUE=' }), [/may not modify existing certificate content/]);
  t.match(status({}, { certificate: 'QQ==' }), [/must contain at least one CERTIFICATE/]);
  const other = Buffer.from(encodePem('PRIVATE KEY', Buffer.from([1]))).toString('base64');
  t.match(status({}, { certificate: other }), [/only CERTIFICATE PEM blocks are allowed, found .*PRIVATE KEY/]);
  const broken = Buffer.from(encodePem('CERTIFICATE', Buffer.from([1]))).toString('base64');
  t.match(status({}, { certificate: broken }), [/that is no certificate/]);
  t.end();
});
