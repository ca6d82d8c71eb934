import t from 'tap';
import { certificateSigningRequestStrategy } from '#api/certificates/v1/certificatesigningrequest/strategy.js';
import { checkRules, checkStatusRules, checkUpdateRules, type RuleRow } from '#api/testing/rule-table.js';
import type { Draft } from '#api/testing/strategy-table.js';

t.test('certificate signing requests are validated as in 1.24', (t) => {
  const base: Draft = {
    metadata: { name: 'a' },
    spec: {
      request:
        'LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlISE1HNENBUUF3RERFS01BZ0dBMVVFQXd3QllUQlpNQk1HQnlxR1NNNDlBZ0VHQ0NxR1NNNDlBd0VIQTBJQQpCSC9sVjRSNHVybzZhTVhESElORkZDMkl4Nkp4Z3ZETDZlaXBBS1ZHaFRnckRCYmhWOEpBeDdlSzEwdUJ5akVBCmR0V3hJRTBISGRobGpXUURWdnBiRk9tZ0FEQUtCZ2dxaGtqT1BRUURBZ05KQURCR0FpRUExVlZ2VDRYWjQ3WXQKM09welVCTFlzVUl0cnBBNzE3NytjcVBUZW94c0V6c0NJUUN5UEZvUXN0NkhTRXE2Ymp0QkRpaVZra1N1c3RXSQpZOFdIbDEvVzBReHJrQT09Ci0tLS0tRU5EIENFUlRJRklDQVRFIFJFUVVFU1QtLS0tLQo=',
      signerName: 'x.io/s',
      usages: ['client auth'],
    },
  };
  const create: RuleRow[] = [
    ['metadata.name', 'A_b'],
    ['metadata.name', 'a/b', `metadata.name: Invalid value: "a/b": may not contain '/'`],
    ['metadata.namespace', 'ns', 'metadata.namespace: Forbidden: not allowed on this type'],
    ['spec.request', undefined, 'spec.request: Invalid value: []byte(nil): PEM block type must be CERTIFICATE REQUEST'],
    ['spec.request', 'YQ==', 'spec.request: Invalid value: []byte{0x61}: PEM block type must be CERTIFICATE REQUEST'],
    ['spec.usages', [], 'spec.usages: Required value: usages must be provided'],
    [
      'spec.usages',
      ['flying'],
      'spec.usages[0]: Unsupported value: "flying": supported values: "any", "cert sign", "client auth", "code signing", "content commitment", "crl sign", "data encipherment", "decipher only", "digital signature", "email protection", "encipher only", "ipsec end system", "ipsec tunnel", "ipsec user", "key agreement", "key encipherment", "microsoft sgc", "netscape sgc", "ocsp signing", "s/mime", "server auth", "signing", "timestamping"',
    ],
    ['spec.usages', ['any', 'any'], 'spec.usages[1]: Duplicate value: "any"'],
    ['spec.usages', ['any', 's/mime']],
    ['spec.signerName', undefined, 'spec.signerName: Required value: signerName must be provided'],
    [
      'spec.signerName',
      'a',
      'spec.signerName: Invalid value: "a": must be a fully qualified domain and path of the form \'example.com/signer-name\'',
    ],
    [
      'spec.signerName',
      'a.b/c/d',
      'spec.signerName: Invalid value: "a.b/c/d": must be a fully qualified domain and path of the form \'example.com/signer-name\'',
    ],
    [
      'spec.signerName',
      'a/b',
      'spec.signerName: Invalid value: "a": should be a domain with at least two segments separated by dots',
    ],
    [
      'spec.signerName',
      'A.b/c',
      `spec.signerName: Invalid value: "A.b": validating label "A": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')`,
    ],
    [
      'spec.signerName',
      'a.b/C',
      `spec.signerName: Invalid value: "C": validating label "C": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`,
    ],
    [
      'spec.signerName',
      'a.b/',
      `spec.signerName: Invalid value: "": validating label "": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`,
    ],
    ['spec.signerName', 'a.b/c.d'],
    [
      'spec.signerName',
      'orch.io/legacy-unknown',
      'spec.signerName: Invalid value: "orch.io/legacy-unknown": the legacy signerName is not allowed via this API version',
    ],
    [
      'spec.expirationSeconds',
      599,
      'spec.expirationSeconds: Invalid value: 599: may not specify a duration less than 600 seconds (10 minutes)',
    ],
    ['spec.expirationSeconds', 600],
  ];
  checkRules(t, certificateSigningRequestStrategy, base, create);
  const update: RuleRow[] = [
    ['spec.signerName', 'y.io/s'],
    ['metadata.labels', { a: 'b' }],
    [
      'metadata.finalizers',
      ['foo'],
      'metadata.finalizers[0]: Invalid value: "foo": name is neither a standard finalizer name nor is it fully qualified',
    ],
  ];
  checkUpdateRules(t, certificateSigningRequestStrategy, base, update);
  const status: RuleRow[] = [
    ['conditions', [{ type: '', status: 'True' }], 'status.conditions[0].type: Required value'],
    ['conditions', [{ type: 'Odd' }], 'status.conditions[0].status: Required value'],
    [
      'conditions',
      [{ type: 'Odd', status: 'Perhaps' }],
      'status.conditions[0].status: Unsupported value: "Perhaps": supported values: "False", "True", "Unknown"',
    ],
    ['conditions', [{ type: 'Odd', status: 'False' }]],
    [
      'conditions',
      [{ type: 'Failed', status: 'False' }],
      'status.conditions[0].status: Unsupported value: "False": supported values: "True"',
    ],
    ['conditions', [{ type: 'Failed', status: 'True' }]],
    [
      'conditions',
      [
        { type: 'Odd', status: 'True' },
        { type: 'Odd', status: 'True' },
      ],
      'status.conditions[1].type: Duplicate value: "Odd"',
    ],
    [
      'conditions',
      [{ type: 'Approved', status: 'True' }],
      'status.conditions: Forbidden: updates may not add a condition of type "Approved"',
    ],
    [
      'conditions',
      [{ type: 'Denied', status: 'True' }],
      'status.conditions: Forbidden: updates may not add a condition of type "Denied"',
    ],
    [
      'certificate',
      'YQ==',
      'status.certificate: Invalid value: "<certificate data>": must contain at least one CERTIFICATE PEM block',
    ],
  ];
  checkStatusRules(t, certificateSigningRequestStrategy, { base }, status);
  t.end();
});
